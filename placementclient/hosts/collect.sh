#!/bin/sh
# Writes what libvirt and mdevctl know of this host as a tar archive, to standard output or to a file:
#   ssh gpu1 sh < collect.sh > facts/gpu1.tar
#   gpu1# sh collect.sh gpu1.tar
# It changes nothing. Secrets are left out: virsh prints them only where it is asked to.
# LIBVIRT_URI names another connection than qemu:///system.
# Where a command fails, it ends with exit status 1, and writes no archive.
set -eu
umask 077
LC_ALL=C
export LC_ALL

fail() {
    echo "collect.sh: $1" >&2
    exit 1
}

target=${1:--}
case $target in
    - | /*) ;;
    *) target=./$target ;;
esac
# Only a file of its own is replaced: no link is followed, and no device is written to.
if [ "$target" != - ] && { [ -h "$target" ] || { [ -e "$target" ] && [ ! -f "$target" ]; }; }; then
    fail "$target is a link, or no regular file: name another file"
fi

work=$(mktemp -d)
beside=
trap 'rm -rf "$work" ${beside:+"$beside"}' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/domains" "$work/nodedevs"

ask() {
    virsh --readonly --quiet --connect "${LIBVIRT_URI:-qemu:///system}" "$@" < /dev/null
}

# A name becomes part of a path: nothing but these characters.
check_plain() {
    case $1 in
        '' | *[!A-Za-z0-9_.-]* | .*) fail "virsh $2 printed a name that is none: $1" ;;
    esac
}

# What has gone since it was listed is no error.
dump() {
    if ask "$1" "$3" > "$work/$2/$3.xml" 2> /dev/null; then return; fi
    rm -f "$work/$2/$3.xml"
    case $1 in
        dumpxml) listed=$(ask list --all --uuid) || fail "virsh list failed" ;;
        *) listed=$(ask nodedev-list) || fail "virsh nodedev-list failed" ;;
    esac
    if printf '%s\n' "$listed" | grep -qxF "$3"; then
        fail "virsh $1 $3 failed"
    fi
}

# The number of the files in a folder of the archive.
count() {
    find "$work/$1" -type f | wc -l | tr -d ' '
}

ask hostname > "$work/hostname" || fail "virsh hostname failed"
ask capabilities > "$work/capabilities.xml" || fail "virsh capabilities failed"

# Before the loop: there, a command that fails would be taken for a host that has none.
domains=$(ask list --all --uuid) || fail "virsh list failed"
devices=$(ask nodedev-list --cap mdev) || fail "virsh nodedev-list --cap mdev failed"
# The devices that can have mediated devices: one that is defined may name a device that is gone.
ask nodedev-list --cap mdev_types > "$work/mdev_types" ||
    fail "virsh nodedev-list --cap mdev_types failed"

for domain in $domains; do
    check_plain "$domain" list
    dump dumpxml domains "$domain"
done

for device in $devices; do
    check_plain "$device" nodedev-list
    dump nodedev-dumpxml nodedevs "$device"
    [ -f "$work/nodedevs/$device.xml" ] || continue
    parent=$(sed -n 's/.*<parent>\([A-Za-z0-9_.-]*\)<\/parent>.*/\1/p' "$work/nodedevs/$device.xml")
    case $parent in '' | .*) continue ;; esac
    if [ ! -f "$work/nodedevs/$parent.xml" ]; then
        dump nodedev-dumpxml nodedevs "$parent"
    fi
done

set -- hostname capabilities.xml mdev_types domains nodedevs
if command -v mdevctl > /dev/null 2>&1; then
    mdevctl list --dumpjson > "$work/mdevctl.json" || fail "mdevctl list failed"
    # Those that are only defined: the answer for servers that are off.
    mdevctl list --defined --dumpjson > "$work/mdevctl-defined.json" ||
        fail "mdevctl list --defined failed"
    set -- "$@" mdevctl.json mdevctl-defined.json
fi

# The last file: an archive without it is not complete.
printf 'domains %s\nnodedevs %s\n' "$(count domains)" "$(count nodedevs)" > "$work/count"

# tar sees no name of an archive: one with a colon it would look for on another host.
if [ "$target" = - ]; then
    tar -C "$work" -cf - "$@" count
else
    beside=$(mktemp "$target.XXXXXX")
    tar -C "$work" -cf - "$@" count > "$beside"
    mv -f "$beside" "$target"
fi
