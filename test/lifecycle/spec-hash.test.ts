import { expect, it } from "vitest";
import { createMayfly } from "../mayfly.ts";
import { KEY_A, KEY_B } from "../simulator/sample-keys.ts";

const FIREWALL = "00000000-0000-4000-8000-999999999999";
const LEAST = { server_type: "cx23", region: "fsn1" };
const SSH = { direction: "in", protocol: "tcp", port: "22", source_ips: ["10.0.0.0/8"] };
const REST = { ...LEAST, cloud_init: "#!/bin/sh\n", enable_ipv4: false };

/** Rows that were written under these live on: were one of them to change, their repeats would be `spec_mismatch`. */
const KNOWN: readonly (readonly [name: string, body: object, specSha256: string])[] = [
  ["the least", LEAST, "c887577c25335558f8de91f9f8b21542a714d049a067548af8b6fa83cc44e497"],
  [
    "defaults that were said",
    { ...LEAST, image: "debian-12", labels: {}, cloud_init: "", enable_ipv4: true, enable_ipv6: true },
    "baf699f68883d5006d47a364b8513e883e859d5fb8472d0d86d23615fb1abd9f",
  ],
  [
    "lists of one, and a ttl",
    { server_type: ["cx23"], region: ["fsn1"], ttl: "30m" },
    "c887577c25335558f8de91f9f8b21542a714d049a067548af8b6fa83cc44e497",
  ],
  [
    "preferences",
    { server_type: ["cx33", "cx23"], region: ["hel1", "fsn1"] },
    "6fedc7c493ed1614ef7987a2ba4ac2dcc47e36ff27006eea756d135c675af93c",
  ],
  [
    "an architecture",
    { arch: "amd64", region: "fsn1" },
    "a1885ff322e4c541ed29536f08363ba23de46a01bbd74f053c0ac02960cf651c",
  ],
  [
    "an image by text",
    { ...LEAST, image: "114690387" },
    "72baad0b96cc7259baad0d1cfdce5dbae39919c3a8c81fbe63429cf2e938526c",
  ],
  [
    "an image by number",
    { ...LEAST, image: 114_690_387 },
    "f42206d78cd09da9a70a7e53e981e205de77c0926aea14ec11bfb2e24a178c72",
  ],
  [
    "a snapshot",
    { ...LEAST, image: { label_selector: " team=ci " } },
    "e79e35506fdd94df9022cab4f34342e3f2f7b43fdccaf8556665a324863aa265",
  ],
  [
    "much at once",
    { ...REST, labels: { team: "ci", a: "b" }, keep_on_failure: "120m" },
    "9fd80b084d00b5111ab3029eb1f75818cbdb08e0c93d1cfa4a030fd29a53b6d0",
  ],
  [
    "labels in another order, and a length spelled otherwise",
    { ...REST, labels: { a: "b", team: "ci" }, keep_on_failure: "2h" },
    "678754af4217facd432e776bbdacf8db5a9444cfc21f2c37ad1102907bdbe683",
  ],
  [
    "what is attached by name and id",
    { ...LEAST, firewalls: ["web", `fw_${FIREWALL}`], ssh_keys: ["me"] },
    "f48a6fa48f87da01cd32f167634862c691c91c49c42be3aa5d840cf5d9215db8",
  ],
  [
    "what is made with it",
    {
      ...LEAST,
      ssh_keys: [KEY_B],
      networks: [{ ip_range: "10.0.0.0/16" }],
      firewalls: [{ rules: [SSH, { direction: "out", protocol: "icmp" }] }, { deny_all: true }],
    },
    "820685ec7a0cea2605bd0f2c609986d683a52450c76fa0624566ee2154b296db",
  ],
];

it.each(KNOWN)("a spec keeps its hash for ever: %s", async (_, body, known) => {
  const mayfly = createMayfly();
  await mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A });
  await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH] });
  await mayfly.bindings.DB.prepare("UPDATE resources SET uid = ? WHERE name = 'web'").bind(FIREWALL).run();
  await mayfly.send("PUT", "/v1/machines/box", body);
  expect((await mayfly.store.machines.byName("admin", "box"))?.specSha256).toBe(known);
});
