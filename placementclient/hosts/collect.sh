#!/bin/sh
# Writes what libvirt and mdevctl know of this host as a tar archive, to standard output or to a file:
#   ssh gpu1 sh < collect.sh > facts/gpu1.tar
#   gpu1# sh collect.sh gpu1.tar
# It changes nothing. Secrets are left out: virsh prints them only where it is asked to.
# LIBVIRT_URI names another connection than qemu:///system.
set -eu
umask 077
LC_ALL=C
export LC_ALL

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/domains" "$work/nodedevs"

ask() {
    virsh --readonly --quiet --connect "${LIBVIRT_URI:-qemu:///system}" "$@"
}

# A name becomes part of a path: nothing but these characters.
is_plain() {
    case $1 in
        '' | *[!A-Za-z0-9_.-]* | .*) return 1 ;;
    esac
}

# What has gone since it was listed is no error.
dump() {
    if ask "$1" "$3" > "$work/$2/$3.xml" 2> /dev/null; then return; fi
    rm -f "$work/$2/$3.xml"
    case $1 in
        dumpxml) listed=$(ask list --all --uuid) ;;
        *) listed=$(ask nodedev-list) ;;
    esac
    if printf '%s\n' "$listed" | grep -qxF "$3"; then
        echo "virsh $1 $3 failed" >&2
        exit 1
    fi
}

ask hostname > "$work/hostname"
ask capabilities > "$work/capabilities.xml"

for domain in $(ask list --all --uuid); do
    is_plain "$domain" || continue
    dump dumpxml domains "$domain"
done

for device in $(ask nodedev-list --cap mdev); do
    is_plain "$device" || continue
    dump nodedev-dumpxml nodedevs "$device"
    [ -f "$work/nodedevs/$device.xml" ] || continue
    parent=$(sed -n 's/.*<parent>\([A-Za-z0-9_.-]*\)<\/parent>.*/\1/p' "$work/nodedevs/$device.xml")
    if is_plain "$parent" && [ ! -f "$work/nodedevs/$parent.xml" ]; then
        dump nodedev-dumpxml nodedevs "$parent"
    fi
done

if command -v mdevctl > /dev/null 2>&1; then
    mdevctl list --dumpjson > "$work/mdevctl.json"
    # Those that are only defined: the answer for servers that are off.
    mdevctl list --defined --dumpjson > "$work/mdevctl-defined.json"
fi

tar -C "$work" -cf "${1:--}" .
