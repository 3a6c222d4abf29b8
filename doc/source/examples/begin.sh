# Begin a page of the documentation without a cloud. In the folder of the clone:
#   . doc/source/examples/begin.sh
# The shell is then in a new folder with these examples and with an empty Placement.
export PATH="$PWD/.venv/bin:$PATH"
unset OS_CLOUD OS_AUTH_URL OS_PLACEMENT_DATABASE OS_PLACEMENT_CONF
examples=$PWD/doc/source/examples
cd "$(mktemp -d)" && cp -r "$examples"/. .
export OS_AUTH_TYPE=placement_direct XDG_DATA_HOME="$PWD/data"
