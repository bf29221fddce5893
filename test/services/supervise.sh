#!/bin/sh
# supervise.sh FOLDER SIGNAL COMMAND... runs a server in FOLDER for as long as standard input stays open.
#
# The other end of standard input is a pipe of the test run. The kernel closes it however that run ends, kill -9
# included, so no server outlives its test run. Then the server gets SIGNAL, ten seconds, and SIGKILL. It is a shell
# script because it must not need anything that the test run has loaded, and weighs 1 MB.

folder=$1
signal=$2
shift 2
exec 3<&0

each() { # each SIGNAL: sends it to all processes that work in FOLDER, as processes.ts does
  for process in /proc/[0-9]*; do
    case "$(readlink "$process/cwd")/" in
      "$folder"/*) kill -s "$1" "${process#/proc/}" 2>/dev/null ;;
    esac
  done
}

env --chdir="$folder" "$@" </dev/null 3<&- &
server=$!

(
  read -r _ <&3
  trap '' TERM
  each CONT
  kill -s "$signal" "$server" 2>/dev/null
  tries=100
  while kill -0 "$server" 2>/dev/null && [ "$tries" -gt 0 ]; do
    sleep 0.1
    tries=$((tries - 1))
  done
  each KILL
) &
watcher=$!

wait "$server"
status=$?
kill "$watcher" 2>/dev/null
wait "$watcher"
exit "$status"
