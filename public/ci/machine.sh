#!/usr/bin/env bash
# A machine for a CI job, from mayfly. Needs bash, curl and ssh-keygen.
#
#   bash machine.sh up      gets a machine that is called $MAYFLY_NAME, and waits until SSH answers there. In $MAYFLY_DIR stand then
#                           `id_ed25519`, which root lets in, and `env`: MACHINE_IP, MACHINE_ID and MACHINE_SSH, to be read with `.`
#   bash machine.sh down    ends it, whatever became of `up`; says what it cost
#
# MAYFLY              the Worker's address
# MAYFLY_TOKEN        the job's own token (OIDC), or a minted one
# MAYFLY_NAME         of no other job, nor of another attempt at this one; left out, made of what GitLab or GitHub say of the job
# MAYFLY_PROFILE      a profile of mayfly.config.ts, which says what is left out here
# MAYFLY_SERVER_TYPE, MAYFLY_REGION   cx23 and fsn1, where there is no profile
# MAYFLY_TTL          how long it lives: longer than the job takes (45m)
# MAYFLY_CLOUD_INIT   a file of user data
# MAYFLY_CIDR         who may reach it by SSH, as 203.0.113.7/32; left out, this job's own IPv4 address
# MAYFLY_DIR          where keys and answers stand (.mayfly)
set -euo pipefail

die() { echo "mayfly: $*" >&2; exit 1; }

: "${MAYFLY:?is not set: the address of the Worker}"
: "${MAYFLY_TOKEN:?is not set: the token of this job}"
dir=${MAYFLY_DIR:-.mayfly}
case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
attempt=${CI_JOB_ID:+job-$CI_JOB_ID}
if [ -z "$attempt" ] && [ -n "${GITHUB_RUN_ID:-}" ]; then
  attempt="job-$GITHUB_RUN_ID-${GITHUB_RUN_ATTEMPT:-1}-${GITHUB_JOB:-}-${MAYFLY_INDEX:-0}"
fi
name=${MAYFLY_NAME:-$attempt}
[ -n "$name" ] || die "MAYFLY_NAME is not set: a name of no other job"

# Text as JSON writes it.
json() {
  printf '"'
  printf '%s' "$1" | LC_ALL=C awk 'BEGIN { ORS = "" } NR > 1 { print "\\n" } {
    gsub(/\\/, "\\\\\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); gsub(/\r/, "\\r"); print }'
  case $1 in *$'\n') printf '\\n' ;; esac
  printf '"'
}

# The text of a field of an answer; nothing where it has none.
field() { sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' "$dir/answer" | head -n 1; }
number() { sed -n 's/.*"'"$1"'": *\([0-9.]*\).*/\1/p' "$dir/answer" | head -n 1; }

# call METHOD PATH [FILE]: tries again for some minutes what may pass by itself, and leaves the answer in a file. The token goes by a file that only this job
# reads, where no list of processes shows it.
call() {
  local status wait=2 try
  for try in 1 2 3 4 5 6; do
    : > "$dir/answer"
    status=$(curl -sS --max-time 90 -K "$dir/token" -X "$1" "$MAYFLY$2" ${3:+--data-binary "@$3"} \
      -D "$dir/headers" -o "$dir/answer" -w '%{http_code}') || status=000
    case $status in
      2??) return 0 ;;
      000 | 429 | 5??) [ "$try" = 6 ] || sleep "$(wait_for "$wait")" ;;
      *) break ;;
    esac
    wait=$((wait * 2))
  done
  echo "mayfly: $1 $2: $status $(cat "$dir/answer" 2>/dev/null)" >&2
  return 1
}
wait_for() {
  local told
  told=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]*\).*/\1/p' "$dir/headers" 2>/dev/null | head -n 1)
  if [ "${told:-0}" -gt "$1" ] && [ "$told" -le 60 ]; then echo "$told"; else echo "$1"; fi
}

prepare() {
  mkdir -p "$dir"
  chmod 700 "$dir"
  : > "$dir/headers"
  (umask 077 && printf 'header = "Authorization: Bearer %s"\n' "$MAYFLY_TOKEN" > "$dir/token")
}

# What is asked for, as JSON.
order() {
  local cidr=${MAYFLY_CIDR:-} more=""
  if [ -z "$cidr" ]; then
    call GET /v1/whoami
    cidr=$(field address)
    case $cidr in
      *:* | "") die "this job's address is ${cidr:-unknown}: say in MAYFLY_CIDR who may reach the machine" ;;
    esac
    cidr=$cidr/32
  fi
  if [ -n "${MAYFLY_PROFILE:-}" ]; then more=', "profile": '$(json "$MAYFLY_PROFILE"); fi
  if [ -z "${MAYFLY_PROFILE:-}" ] || [ -n "${MAYFLY_SERVER_TYPE:-}" ]; then
    more=$more', "server_type": '$(json "${MAYFLY_SERVER_TYPE:-cx23}")
  fi
  if [ -z "${MAYFLY_PROFILE:-}" ] || [ -n "${MAYFLY_REGION:-}" ]; then
    more=$more', "region": '$(json "${MAYFLY_REGION:-fsn1}")
  fi
  if [ -n "${MAYFLY_CLOUD_INIT:-}" ]; then more=$more', "cloud_init": '$(json "$(cat "$MAYFLY_CLOUD_INIT"; echo x)" | sed 's/x"$/"/'); fi
  printf '{"ttl": %s, "ssh_keys": [%s], "firewalls": [{"rules": [{"direction": "in", "protocol": "tcp", "port": "22", "source_ips": [%s]}]}]%s}' \
    "$(json "${MAYFLY_TTL:-45m}")" "$(json "$(cat "$dir/id_ed25519.pub")")" "$(json "$cidr")" "$more"
}

up() {
  prepare
  [ -f "$dir/id_ed25519" ] || ssh-keygen -q -t ed25519 -N "" -C "" -f "$dir/id_ed25519"
  order > "$dir/order"
  call PUT "/v1/machines/$name?wait=30" "$dir/order"
  echo "$name" > "$dir/made"
  local ip="" left=20
  while [ "$(field status)" = creating ] && [ "$left" -gt 0 ]; do
    call GET "/v1/machines/$name?wait=30"
    left=$((left - 1))
  done
  ip=$(field public_ipv4)
  if [ "$(field status)" != running ] || [ -z "$ip" ]; then die "$name does not run: $(cat "$dir/answer")"; fi
  {
    echo "MACHINE_IP=$ip"
    echo "MACHINE_ID=$(field id)"
    echo "MACHINE_SSH=\"ssh -i $dir/id_ed25519 -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=$dir/known_hosts root@$ip\""
  } > "$dir/env"
  echo "$name runs at $ip" >&2
  left=100
  until [ "$(timeout 5 bash -c "exec 3<>/dev/tcp/$ip/22; head -c 4 <&3" 2>/dev/null)" = SSH- ]; do
    [ "$left" -gt 0 ] || die "$ip does not answer SSH"
    left=$((left - 1))
    sleep 3
  done
}

down() {
  prepare
  # Where its create was never answered, it may be under way still.
  local tombstone="?tombstone=10m"
  [ ! -f "$dir/made" ] || tombstone=""
  call DELETE "/v1/machines/$name$tombstone" || die "$name could not be ended now, and ends with its lease"
  [ ! -s "$dir/answer" ] || echo "$name is $(field status), and cost $(number cost_eur) EUR" >&2
  rm -f "$dir/token"
}

case ${1:-} in
  up) up ;;
  down) down ;;
  *) die "say up or down" ;;
esac
