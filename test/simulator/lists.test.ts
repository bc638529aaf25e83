import { beforeEach, describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

let started: ReturnType<typeof startSimulator>;

beforeEach(() => {
  started = startSimulator();
});

const addNumbered = (count: number): void => {
  for (let number = 1; number <= count; number += 1) started.sim.addServer({ name: `s${number}` });
};

describe("paging", () => {
  it("answers 25 entries and all six pagination fields", async () => {
    addNumbered(60);
    const { body } = await started.send("GET", "/v1/servers");
    expect(body).toHaveProperty("servers.length", 25);
    expect(body).toHaveProperty("meta.pagination", {
      page: 1,
      per_page: 25,
      previous_page: null,
      next_page: 2,
      last_page: 3,
      total_entries: 60,
    });
  });

  it("answers at most 50 entries however many are asked for", async () => {
    addNumbered(60);
    const { body } = await started.send("GET", "/v1/servers?per_page=100");
    expect(body).toMatchObject({ meta: { pagination: { per_page: 50, next_page: 2, last_page: 2 } } });
  });

  it("has no next page on the last one and nothing behind it", async () => {
    addNumbered(60);
    const last = await started.send("GET", "/v1/servers?page=3&per_page=25");
    expect(last.body).toMatchObject({ meta: { pagination: { previous_page: 2, next_page: null } } });
    const beyond = await started.send("GET", "/v1/servers?page=4&per_page=25");
    const pagination = { page: 4, previous_page: 3, next_page: null, last_page: 3, total_entries: 60 };
    expect(beyond).toMatchObject({ status: 200, body: { servers: [], meta: { pagination } } });
  });

  it("links to the neighbouring pages with the same filters", async () => {
    addNumbered(60);
    const { headers } = await started.send("GET", "/v1/servers?page=2&per_page=25&sort=id:asc");
    expect(headers.get("Link")).toBe(
      [
        '<https://api.hetzner.cloud/v1/servers?page=1&per_page=25&sort=id%3Aasc>; rel="prev"',
        '<https://api.hetzner.cloud/v1/servers?page=3&per_page=25&sort=id%3Aasc>; rel="next"',
        '<https://api.hetzner.cloud/v1/servers?page=3&per_page=25&sort=id%3Aasc>; rel="last"',
      ].join(", "),
    );
  });

  it("of an empty list is one page", async () => {
    const { body, headers } = await started.send("GET", "/v1/servers");
    expect(body).toMatchObject({ meta: { pagination: { next_page: null, last_page: 1, total_entries: 0 } } });
    expect(headers.get("Link")).toBe('<https://api.hetzner.cloud/v1/servers?page=1>; rel="last"');
  });

  it("is about what the filters leave", async () => {
    addNumbered(60);
    const { body } = await started.send("GET", "/v1/servers?name=s7&per_page=50");
    expect(body).toMatchObject({ servers: [{ name: "s7" }], meta: { pagination: { total_entries: 1 } } });
  });

  it("covers the catalogue too", async () => {
    const { body } = await started.send("GET", "/v1/server_types?per_page=5&page=2");
    expect(body).toMatchObject({ meta: { pagination: { page: 2, per_page: 5, previous_page: 1, next_page: 3 } } });
    expect(await started.names("/v1/locations?per_page=2&page=2")).toEqual(["hel1", "ash"]);
  });

  it.each(["page=0", "page=x", "per_page=0", "per_page=-1"])("refuses %s", async (query) => {
    expect(await started.send("GET", `/v1/servers?${query}`)).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input" } },
    });
  });
});

describe("sorting", () => {
  beforeEach(() => {
    started.sim.addServer({ id: 1, name: "b", created: "2026-11-02T00:00:00+00:00" });
    started.sim.addServer({ id: 2, name: "a", created: "2026-11-03T00:00:00+00:00" });
    started.sim.addServer({ id: 3, name: "b", created: "2026-11-01T00:00:00+00:00" });
    started.sim.addServer({ id: 4, name: "c", created: null });
  });

  it.each([
    ["", ["b", "a", "b", "c"]],
    ["sort=id:desc", ["c", "b", "a", "b"]],
    ["sort=name", ["a", "b", "b", "c"]],
    ["sort=created", ["b", "b", "a", "c"]],
    ["sort=created:desc", ["c", "a", "b", "b"]],
  ])("by %j", async (query, names) => {
    expect(await started.names(`/v1/servers?${query}`)).toEqual(names);
  });

  it("by several fields, first one first", async () => {
    const { body } = await started.send("GET", "/v1/servers?sort=name:asc&sort=id:desc");
    expect(body).toMatchObject({ servers: [{ id: 2 }, { id: 3 }, { id: 1 }, { id: 4 }] });
  });

  it.each([
    ["locations?sort=name", ["ash", "fsn1", "hel1", "hil", "nbg1", "sin"]],
    ["locations?sort=id:desc", ["sin", "hil", "ash", "hel1", "nbg1", "fsn1"]],
    ["images?sort=name:desc&architecture=arm&per_page=2", ["ubuntu-24.04", "ubuntu-22.04"]],
    ["images?sort=created&sort=name&architecture=x86&per_page=2", ["alma-9", "debian-12"]],
  ])("of %s", async (query, names) => {
    expect(await started.names(`/v1/${query}`)).toEqual(names);
  });

  it.each(["locations?sort=created", "primary_ips?sort=name", "servers/actions?sort=progress"])(
    "refuses %s, a field that this list does not sort by",
    async (query) => {
      const error = { code: "invalid_input", details: { fields: [{ name: "sort" }] } };
      expect(await started.send("GET", `/v1/${query}`)).toMatchObject({ status: 422, body: { error } });
    },
  );

  it.each(["sort=colour", "sort=id:up", "sort=", "sort=constructor"])("refuses %s", async (query) => {
    expect(await started.send("GET", `/v1/servers?${query}`)).toMatchObject({ status: 422 });
  });
});

describe("filters of GET /servers", () => {
  beforeEach(() => {
    started.sim.addServer({ name: "a", status: "off", labels: { env: "ci" } });
    started.sim.addServer({ name: "ab", status: "running", labels: null });
    started.sim.addServer({ name: "abc", status: "unknown" });
  });

  it("compare the whole name", async () => {
    expect(await started.names("/v1/servers?name=a")).toEqual(["a"]);
    expect(await started.names("/v1/servers?name=A")).toEqual([]);
  });

  it("take several statuses and refuse unknown ones", async () => {
    expect(await started.names("/v1/servers?status=off&status=unknown")).toEqual(["a", "abc"]);
    expect(await started.send("GET", "/v1/servers?status=broken")).toMatchObject({ status: 422 });
  });

  it("select by label, where null and absent labels are none", async () => {
    expect(await started.names("/v1/servers?label_selector=env")).toEqual(["a"]);
    expect(await started.names("/v1/servers?label_selector=!env")).toEqual(["ab", "abc"]);
  });

  it.each([
    ["env in (ci,dev)", ["a"]],
    ["env notin (ci,dev)", ["ab", "abc"]],
    ["env!=ci", ["ab", "abc"]],
    ["env==ci,!absent", ["a"]],
    ["", ["a", "ab", "abc"]],
  ])("take the selector %j out of an encoded query", async (selector, names) => {
    const query = new URLSearchParams({ label_selector: selector }).toString();
    expect(await started.names(`/v1/servers?${query}`)).toEqual(names);
  });

  it("are all asked for together", async () => {
    expect(await started.names("/v1/servers?name=a&status=off&label_selector=env")).toEqual(["a"]);
    expect(await started.names("/v1/servers?name=a&status=running&label_selector=env")).toEqual([]);
  });

  it("refuse a bad selector with its position", async () => {
    expect(await started.send("GET", "/v1/servers?label_selector=owner%3DMy%20Team%2C%20prod")).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", message: "expected comma at pos 9" } },
    });
  });
});
