#!/bin/sh
# What one finds in place of mayfly: list all, pick what is over by a label, delete four at a time.
now=$(date +%s)
hcloud server list -o json |
  jq -r --argjson now "$now" '.[] | select((.labels["mayfly-expires"] // "99999999999" | tonumber) <= $now) | .id' |
  xargs -r -P4 -n1 hcloud server delete >/dev/null
