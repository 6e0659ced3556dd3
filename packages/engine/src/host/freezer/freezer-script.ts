/**
 * A process that outlives us and undoes every freeze that it has made: when its input ends (our `thaw`, or our death,
 * kill -9 included) or when the time is over. `sh -c FREEZER_SCRIPT name NOTE KIND PATH [KIND PATH ...]`
 *
 * It freezes nothing before it has read a line, the seconds it has, so that it can be started ahead of time. What it is
 * given it freezes all at once: a file system of whose writers it is to stop others is for a later one. Each target has a
 * process of its own that freezes, waits for the end of a common pipe, and thaws: whatever happens to the others, and also
 * when its freeze took so long that the time was over meanwhile. The pipe ends with the process that waits for our input.
 * The root of a file system stays open from before the freeze until it is thawed: it cannot be unmounted meanwhile (a
 * frozen one could, and then no process could thaw it any more), and it is found also when its path leads elsewhere. Should
 * one of these processes be killed, the one that started it thaws in its stead, at the same time as the others. A control
 * group that another program has frozen is refused, so that it stays frozen, as a file system is by the kernel. Processes
 * like this one may share it (agents of several nodes on one machine): each has a shared lock on its folder for as long as
 * it wants it frozen, and who can make that an exclusive one is the last of them. All of them ignore the signals that a
 * terminal or a service manager sends round; their children inherit that, hence KILL for the one that is timed. The file
 * NOTE, if not empty, is removed once nothing of ours is frozen: it stays only where another process has to thaw.
 */
export const FREEZER_SCRIPT = `
trap '' HUP INT TERM PIPE
note=$1
shift
# The agent may not listen any more, which is no failure of what is reported.
say() {
  echo "$@" || :
}
forget() {
  [ -z "$note" ] || rm -f -- "$note"
}
echo armed
read -r seconds || { forget; exit 0; }

thaw_filesystem() {
  tries=0
  until fsfreeze --unfreeze /proc/self/fd/6; do
    tries=$((tries + 1))
    [ "$tries" -gt 50 ] && { say stuck "$1"; return 1; }
    sleep 0.1
  done
  exec 6<&-
  say thawed "$1"
}

freeze_filesystem() {
  command exec 6<"$2" || { say failed "$1"; return; }
  fsfreeze --freeze /proc/self/fd/6 || { say failed "$1"; return; }
  say frozen "$1"
  read -r end <&5
  thaw_filesystem "$1"
}

freeze_cgroup() {
  command exec 6<"$2" || { say failed "$1"; return; }
  if flock --exclusive --nonblock 6; then
    read -r was <"$2/cgroup.freeze" || { say failed "$1"; return; }
    [ "$was" = 0 ] || { echo "$2 is busy: it is frozen" >&2; say failed "$1"; return; }
  fi
  flock --shared 6
  echo 1 >"$2/cgroup.freeze" || { say failed "$1"; return; }
  say frozen "$1"
  read -r end <&5
  thaw_cgroup "$1" "$2"
}

thaw_cgroup() {
  if flock --exclusive --nonblock 6; then
    echo 0 >"$2/cgroup.freeze" || [ ! -d "$2" ] || { say stuck "$1"; return 1; }
  fi
  exec 6<&-
  say thawed "$1"
}

# For those that were killed.
save_filesystem() {
  fsfreeze --unfreeze "$2" && say thawed "$1"
}

save_cgroup() {
  { command exec 6<"$2" || [ ! -d "$2" ]; } && thaw_cgroup "$1" "$2"
}

freeze_all() {
  index=0
  while [ "$#" -gt 0 ]; do
    "freeze_$1" "$index" "$2" &
    workers="$workers $!"
    index=$((index + 1))
    shift 2
  done
}

exec 3<&0 4>&1
{
  timeout --signal=KILL "$seconds" cat <&3 >/dev/null 2>&1
  echo "released $?" >&4
} | {
  exec 5<&0 3<&-
  workers=
  freeze_all "$@"
  index=0
  stuck=
  for worker in $workers; do
    wait "$worker"
    code=$?
    if [ "$code" -gt 128 ]; then
      read -r end <&5
      "save_$1" "$index" "$2" || stuck=1
    elif [ "$code" -ne 0 ]; then
      stuck=1
    fi
    index=$((index + 1))
    shift 2
  done
  [ -n "$stuck" ] || forget
}
`;
