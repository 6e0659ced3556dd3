/**
 * What an attacker tries from inside of a container. Each attempt prints one line `NAME held` or `NAME ESCAPED ...`. The
 * one that changes something on the machine when it gets through is core_pattern: who runs the attempts puts that back.
 */
export const ATTEMPTS = `
held() { echo "$1 held"; }
escaped() { echo "$1 ESCAPED $2"; }
writable() { if (exec 3>>"$2") 2>/dev/null; then escaped "$1" "$2 is open for writing"; else held "$1"; fi; }

if (echo attacked >/proc/sys/kernel/core_pattern) 2>/dev/null; then escaped core_pattern; else held core_pattern; fi
writable sysrq /proc/sysrq-trigger
writable proc-irq /proc/irq/default_smp_affinity
writable sys /sys/kernel/mm/transparent_hugepage/enabled
# Masked by /dev/null, which any user may open: what counts is what comes out of it.
if [ -n "$(head -c 1 /proc/kcore 2>/dev/null | tr '\\0' x)" ]; then escaped kcore; else held kcore; fi

set -- $(grep CapBnd /proc/self/status)
if [ $((0x$2 & ~0x$ALLOWED_CAPABILITIES)) -ne 0 ]; then escaped capabilities "$2"; else held capabilities; fi
set -- $(grep CapEff /proc/self/status)
if [ $((0x$2 & ~0x$ALLOWED_CAPABILITIES)) -ne 0 ]; then escaped effective "$2"; else held effective; fi
if [ "$(id -u):$(id -g)" = "$ALLOWED_USER" ]; then held user; else escaped user "$(id)"; fi
set -- $(grep NoNewPrivs /proc/self/status)
if [ "$2" -lt "$LEAST_NO_NEW_PRIVILEGES" ]; then escaped no-new-privileges "$2"; else held no-new-privileges; fi
set -- $(grep '^Seccomp:' /proc/self/status)
if [ "$2" = 2 ]; then held seccomp; else escaped seccomp "mode $2"; fi

files=$(for each in /proc/$$/fd/*; do readlink "$each"; done | grep -E '^/' | grep -vE '^(/dev/(null|pts/)|/attempts/|/out/|.*/logs/pods/)')
if [ -z "$files" ]; then held descriptors; else escaped descriptors "$files"; fi
disk=$(cat /sys/class/block/*/dev 2>/dev/null | head -n 1)
# Not in /tmp, where no device can be opened, whatever the control group says.
node=/out/disk-$WAY
if mknod $node b \${disk%:*} \${disk#*:} 2>/dev/null && head -c 1 $node >/dev/null 2>&1; then
  escaped disk "$disk"
else
  held disk
fi
rm -f $node
devices=$(ls /dev | grep -E '^(sd|vd|nvme|loop|mem|kmsg|mapper|kvm|fuse)')
if [ -z "$devices" ]; then held devices; else escaped devices "$(echo $devices)"; fi
if unshare --user --map-root-user true 2>/dev/null; then escaped user-namespace; else held user-namespace; fi
if mount -t tmpfs none /tmp 2>/dev/null; then escaped mount; else held mount; fi
# A container of an image writes there into its own layer; who runs the attempts reads the image afterwards.
if (: >/usr/attack) 2>/dev/null || (: >/etc/attack) 2>/dev/null; then wrote=1; else wrote=; fi
if [ -n "$wrote" ] && [ -z "$OWN_LAYER" ]; then escaped root; else held root; fi
if [ -s /etc/shadow ]; then escaped shadow; else held shadow; fi
if [ -n "$(ls -A /root 2>/dev/null)" ]; then escaped home; else held home; fi
keys=$(cat $SECRETS 2>/dev/null | head -c 20)
if [ -z "$keys" ]; then held keys; else escaped keys; fi
agents=$(find /sys/fs/cgroup -name release_agent -writable 2>/dev/null | head -n 1)
if [ -z "$agents" ]; then held release_agent; else escaped release_agent "$agents"; fi
others=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -oE '[m]ooring.mjs|[p]rocess_api|/sbin/[i]nit')
if [ -z "$others" ]; then held processes; else escaped processes "$others"; fi
if [ -e "/proc/1/root$STATE_FOLDER/pki" ]; then escaped root-of-init; else held root-of-init; fi
`;

/** In the place of a program of the machine's that a careless runtime starts before it has given up root. */
export const IMPOSTOR = `#!/bin/sh
echo "impostor ESCAPED $0 ran as $(id -u) with $(grep CapEff /proc/self/status)" >>/out/impostor
exit 1
`;

/** Programs that runtimes are known to take from the container's own file system. */
export const IMPERSONATED: readonly string[] = ["/usr/bin/setpriv", "/usr/bin/nsenter", "/usr/bin/runc"];
