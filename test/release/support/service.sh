# What the test of the service does on its machine, as a unit of that machine's systemd: SERVICE_DEB is installed, and its own
# unit runs a pod through a kill of the process, a stop, and the removal of the package.
set -eux
dpkg --force-depends --install "$SERVICE_DEB"
config=/etc/mooring/config.yaml
# A folder that nothing else on the kernel's loop devices has, whatever machine it is of.
sed -i "s|^state-dir:.*|state-dir: $SERVICE_STATE|; s/^# listen:.*/listen: 127.0.0.1:0/; s/^# pool-size:.*/pool-size: 1Gi/" $config
systemd-analyze verify mooring.service

export KUBECONFIG="$SERVICE_STATE/kubeconfig"
within() { timeout 120 sh -c "until $1; do sleep 0.2; done"; }
well() { within 'mooring status >/dev/null 2>&1' || { mooring status; false; }; }
show() { systemctl show --property "$1" --value mooring; }
lines() { kubectl exec writer -- sh -c 'wc -l </data/lines'; }
# The pod may be on its way.
at_least() { within "[ \"\$(kubectl exec writer -- sh -c 'wc -l </data/lines')\" -ge $1 ]"; }
writes_on() { at_least 1; at_least $(($(lines) + 5)); }

systemctl enable --now mooring
well
kubectl apply -f "$SERVICE_PODS"
writes_on

: killed: the pod goes on, systemd starts the process anew, and that one takes the pod over
program=$(kubectl exec writer -- sh -c 'cat /proc/1/stat | cut -d" " -f22')
kill -9 "$(show MainPID)"
within '[ "$(systemctl show --property NRestarts --value mooring)" = 1 ]'
well
writes_on
[ "$(kubectl exec writer -- sh -c 'cat /proc/1/stat | cut -d" " -f22')" = "$program" ]

: stopped: cleanly, with nothing mounted, and what was written is there after the next start
kept=$(lines)
systemctl stop mooring
[ "$(show Result) $(show ExecMainStatus) $(show ActiveState)" = "success 0 inactive" ]
[ "$(grep -c "$SERVICE_STATE" /proc/self/mountinfo)" = 0 ]
systemctl start mooring
well
at_least "$kept"

: back to a copy of the state: what was made after it is not known, and what was there goes on
systemctl stop mooring
cp -a "$SERVICE_STATE/store" "$SERVICE_STATE-store-before"
systemctl start mooring
well
kubectl create configmap made-after
systemctl stop mooring
mv "$SERVICE_STATE/store" "$SERVICE_STATE-store-newer"
cp -a "$SERVICE_STATE-store-before" "$SERVICE_STATE/store"
systemctl start mooring
well
[ "$(kubectl get configmap made-after --ignore-not-found)" = "" ]
at_least "$kept"

: removed: the service ends with its package, and the volumes stay
kubectl delete pod writer --wait --timeout=60s
dpkg --remove mooring
[ "$(show ActiveState)" = inactive ]
[ ! -e /usr/bin/mooring ]
[ -e "$SERVICE_STATE/pools" ]
[ "$(grep -c "$SERVICE_STATE" /proc/self/mountinfo)" = 0 ]
: all of it
