// What the command line makes of refusals that are not about its own request.
import { describe, expect, it } from "vitest";
import { available, hcloudProject } from "./hcloud-project.ts";

const WRITES: [string, string[]][] = [
  ["DELETE", ["delete", "a"]],
  ["POST", ["poweroff", "a"]],
  ["POST", ["enable-protection", "a", "delete", "rebuild"]],
  ["PUT", ["update", "a", "--name", "b"]],
  ["PUT", ["add-label", "a", "run=7"]],
];
const LOCKABLE = ["delete", "poweron", "poweroff", "shutdown", "reboot", "reset"];

describe.skipIf(!available)("hcloud is told", () => {
  const { sim, succeed, refused, given, act, column, statuses, writes } = hcloudProject();

  it.each(LOCKABLE)("that %s has to wait until another action has ended", async (command) => {
    const { id } = given();
    await act(id, "reboot");
    // Set back, the clock keeps that action running for as long as the test likes.
    sim.advance(-3600);
    expect(await refused("server", command, "a")).toContain("server is locked (locked)");
    sim.advance(3600);
    await succeed("server", command, "a");
  });

  it.each([
    [429, "rate_limit_exceeded"],
    [401, "unauthorized"],
    [403, "forbidden"],
    [500, "server_error"],
    [502, "bad_gateway"],
    [503, "unavailable"],
    [504, "timeout"],
  ])("%i at each write, which it does not repeat", async (status, code) => {
    given();
    const before = sim.state().servers;
    for (const [method, args] of WRITES) {
      sim.fault({ method, path: "/servers/", status, message: "not now" });
      expect(await refused("server", ...args)).toContain(`not now (${code})`);
    }
    expect(sim.state().servers).toEqual(before);
    expect(writes()).toHaveLength(WRITES.length);
  });

  it("that the project's requests are used up, and when the bucket has refilled it is served", async () => {
    sim.reset({ rate_limit: 1 });
    await column("server", "name");
    expect(await refused("server", "list")).toContain("(rate_limit_exceeded)");
    sim.advance(3600);
    expect(await column("server", "name")).toEqual([]);
  });

  it("that a page of a list is missing, and prints no half of it", async () => {
    for (let number = 1; number <= 60; number += 1) given({ name: `s${number}` });
    sim.fault({ path: "/servers$", after: 1, status: 503, message: "not now" });
    expect(await refused("server", "list")).toContain("not now (unavailable)");
  });

  it("nothing it can read: a gateway's own page", async () => {
    sim.fault({ status: 502, body: "<html>", headers: { "Content-Type": "text/html" } });
    expect(await refused("server", "list")).toContain("502");
  });

  it("a conflict, and repeats the request", async () => {
    given();
    sim.fault({ method: "POST", status: 409, code: "conflict" });
    await succeed("server", "poweroff", "a");
    expect(statuses()).toEqual(["off"]);
  });

  it.each(["poweroff", "shutdown", "reboot", "reset"])("that a %s failed while it waited", async (command) => {
    given();
    sim.fault({ method: "POST", action_error: { code: "stuck", message: "host is gone" } });
    expect(await refused("server", command, "a")).toContain("host is gone (stuck)");
    expect(statuses()).toEqual(["running"]);
  });

  it("that a protection failed while it waited", async () => {
    given();
    sim.fault({ method: "POST", action_error: "stuck" });
    expect(await refused("server", "enable-protection", "a", "delete", "rebuild")).toContain("(stuck)");
    expect(sim.state().servers).toMatchObject([{ protection: { delete: false, rebuild: false } }]);
  });

  it("that a rename meets a taken or a bad name", async () => {
    given();
    given({ name: "b" });
    expect(await refused("server", "update", "a", "--name", "b")).toContain("(uniqueness_error)");
    expect(await refused("server", "update", "a", "--name", "a_b")).toContain("(invalid_input)");
  });

  it("that labels are bad, and keeps the old ones", async () => {
    given({ labels: { env: "ci" } });
    for (const label of ["run=a:b", "hetzner.cloud/run=7", "_run=7"])
      expect(await refused("server", "add-label", "a", label)).toContain("(invalid_input)");
    expect(sim.state().servers[0]?.labels).toEqual({ env: "ci" });
  });

  it("that one protection alone cannot be set", async () => {
    given();
    expect(await refused("server", "enable-protection", "a", "delete")).toContain("(invalid_input)");
  });
});
