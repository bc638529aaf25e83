import { describe, expect, it } from "vitest";
import { failureOf, spec } from "../contract/cloud.ts";
import { openCanned } from "./bench.ts";

/** How a create fails that is refused so. */
const creating = (code: string, message: string, limits: readonly unknown[] | null = null, cloudInit = "") => {
  const error = { code, message, details: limits && { limits } };
  return failureOf(openCanned(() => Response.json({ error }, { status: 403 })).driver.create(spec({ cloudInit })));
};

describe("a refusal for a limit of the project", () => {
  it.each([
    ["server_limit", "machines"],
    ["primary_ip_limit", "primary IP addresses"],
    ["floating_ip_limit", "floating IP addresses"],
    ["ssh_key_limit", "SSH keys"],
    ["firewall_limit", "firewalls"],
    ["load_balancer_limit", "load balancers"],
    ["invented_tomorrow", "invented tomorrows"],
    ["constructor", "constructors"],
  ])("names it by its details: %s counts %s", async (name, counts) => {
    const failure = await creating("resource_limit_exceeded", "core limit exceeded", [{ name }]);
    expect(failure.limit).toEqual({ name, counts });
  });

  it.each([
    ["Primary IP limit exceeded", "primary_ip_limit"],
    ["the server limit is reached", "server_limit"],
    ["dedicated core limit exceeded", "dedicated_core_limit"],
    ["core limit exceeded", "core_limit"],
    ["SSH key limit exceeded", "ssh_key_limit"],
  ])("names it by its words where it has no details: %s", async (message, name) => {
    for (const limits of [null, [], [{}], [{ name: "not a word" }]])
      expect((await creating("resource_limit_exceeded", message, limits)).limit?.name).toBe(name);
  });

  it("names it by its code where that is about one limit", async () => {
    const limit = { name: "dedicated_core_limit", counts: "dedicated cores" };
    expect(await creating("dedicated_core_limit", "no")).toMatchObject({ code: "capacity", limit });
  });

  it.each([
    ["resource_limit_exceeded", "too many"],
    ["resource_limit_exceeded", "observer limit exceeded"],
    ["rate_limit_exceeded", "server limit exceeded"],
    ["invalid_input", "server limit exceeded"],
  ])("names none where none is told: %s, %s", async (code, message) => {
    expect((await creating(code, message)).limit).toBeUndefined();
  });

  it("of a create with cloud-init says in our words which limit it was, and nothing that could quote it", async () => {
    const limits = [{ name: "primary_ip_limit" }];
    const failure = await creating("resource_limit_exceeded", "no s3cret more", limits, "#!/bin/sh\necho s3cret\n");
    expect(failure.message).toContain("the project's limit of primary IP addresses is reached");
    expect(failure.message).not.toContain("s3cret");
  });
});
