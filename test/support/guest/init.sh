#!/bin/sh
# The first process of the guest. Its root is the host's, read-only; what it changes is in memory, or on a disk of its own
# (/run/disk). Commands come as lines `<number> <command>`; every line of a response is `@<number> <text>`, the last one
# `@<number> exit <code>`.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
ip address add "$GUEST_ADDRESS/24" dev vec0
ip link set vec0 up
mkdir -p /run/modules/lib /run/share /run/tmp /run/disk
ln -s /usr/lib/uml/modules /run/modules/lib/modules
export TMPDIR=/run/tmp PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
[ ! -e /dev/ubda ] || mount /dev/ubda /run/disk
stty -echo -onlcr </dev/console
echo "@0 exit 0"
while read -r number command; do
  (
    sh -c "$command" </dev/null 2>&1
    printf '\nexit %s\n' "$?"
  ) | sed -u "s/^/@$number /" &
done
poweroff -f
