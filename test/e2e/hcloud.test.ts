// The judge of the simulator: a client that nobody here wrote.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { serveSimulator, type SimulatorServer } from "../../scripts/simulator-server.ts";
import { IMAGES } from "../simulator/catalogue.ts";
import { createSimulator } from "../simulator/simulator.ts";
import { hasHcloud, hcloud, type Ended } from "./hcloud-cli.ts";

const SPEED = 20;
const available = hasHcloud();
const inCi = process.env["CI"] !== undefined && process.env["CI"] !== "";
if (!available && !inCi) console.log("skipped: hcloud is not on the PATH (Debian: apt-get install hcloud-cli)");

it.runIf(inCi)("hcloud is installed where the tests must not be skipped", () => {
  expect(available).toBe(true);
});

describe.skipIf(!available)("the hcloud command line", () => {
  // A clock that runs fast: the client waits for actions in real time.
  const start_ms = Date.now();
  const sim = createSimulator({ now: () => start_ms + (Date.now() - start_ms) * SPEED });
  let server: SimulatorServer;

  beforeAll(async () => {
    server = await serveSimulator(sim, 0);
  });

  afterAll(() => server.close());

  beforeEach(() => {
    sim.reset();
  });

  const run = (...args: string[]): Promise<Ended> => hcloud(server.url, args);

  async function succeed(...args: string[]): Promise<string> {
    const ended = await run(...args);
    if (ended.code !== 0) throw new Error(`hcloud ${args.join(" ")}: ${ended.stderr}`);
    return ended.stdout;
  }

  const refusal = ({ code, stderr }: Ended): string => (code === 1 ? stderr : `exit code ${code}: ${stderr}`);
  const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "");
  const serverNames = async (...args: string[]): Promise<string[]> =>
    lines(await succeed("server", "list", "-o", "noheader", "-o", "columns=name", ...args));
  const create = (name: string, ...args: string[]): Promise<Ended> =>
    run("server", "create", "--name", name, "--type", "cx23", "--image", "debian-13", ...args);

  describe("server list", () => {
    it("shows nothing in an empty project", async () => {
      expect(await serverNames()).toEqual([]);
    });

    it("walks through all pages", async () => {
      for (let number = 101; number <= 220; number += 1) sim.addServer({ name: `s${number}`, labels: {} });
      const names = await serverNames();
      expect(names).toHaveLength(120);
      expect(names.at(-1)).toBe("s220");
      expect(sim.requests().map(({ query }) => new URLSearchParams(query).get("page"))).toEqual(["1", "2", "3"]);
    });

    it.each([
      ["env=ci", ["a", "b"]],
      ["env=ci,tier!=db", ["a"]],
      ["env in (prod,dev)", ["c"]],
      ["!env", ["d"]],
    ])("-l %j", async (selector, names) => {
      sim.addServer({ name: "a", labels: { env: "ci" } });
      sim.addServer({ name: "b", labels: { env: "ci", tier: "db" } });
      sim.addServer({ name: "c", labels: { env: "prod" } });
      sim.addServer({ name: "d", labels: {} });
      expect(await serverNames("-l", selector)).toEqual(names);
    });

    it("says what is wrong with a selector", async () => {
      expect(refusal(await run("server", "list", "-l", "a b"))).toContain("expected comma at pos 2 (invalid_input)");
    });
  });

  describe("server create", () => {
    it("makes a server with labels and user data, and waits until it has started", async () => {
      const where = ["--type", "cx33", "--image", "debian-13", "--location", "nbg1"];
      const labels = ["--label", "env=ci", "--label", "example.com/run=7"];
      const args = ["server", "create", "--name", "ci-1", ...where, ...labels, "--user-data-from-file", "-"];
      const ended = await hcloud(server.url, args, "#cloud-config\n");
      expect(ended).toMatchObject({ code: 0 });
      expect(ended.stdout).toContain("Root password:");
      expect(sim.state().servers).toMatchObject([
        {
          name: "ci-1",
          status: "running",
          labels: { env: "ci", "example.com/run": "7" },
          user_data: "#cloud-config\n",
          server_type: { name: "cx33" },
          location: { name: "nbg1" },
        },
      ]);
      expect(sim.requests().filter(({ method }) => method === "POST")).toEqual([
        { method: "POST", path: "/v1/servers", query: "", status: 201 },
      ]);
    });

    it("makes an ARM server from the ARM image's id", async () => {
      // This client looks names up without an architecture and would send the x86 image.
      const arm = IMAGES.find((image) => image.name === "debian-13" && image.architecture === "arm");
      await succeed("server", "create", "--name", "a", "--type", "cax11", "--image", String(arm?.id));
      expect(sim.state().servers).toMatchObject([{ server_type: { name: "cax11" }, image: { architecture: "arm" } }]);
    });

    it("is refused a name that is taken", async () => {
      sim.addServer({ name: "a" });
      expect(refusal(await create("a"))).toContain("server name is already used (uniqueness_error)");
    });

    it("is refused a bad host name", async () => {
      expect(refusal(await create("ci_1"))).toContain("(invalid_input)");
    });

    it("is refused a type that is out of stock", async () => {
      sim.stock({ server_type: "cx23", orderable: false });
      expect(refusal(await create("a"))).toContain("(resource_unavailable)");
    });

    it("leaves a server off when told not to start it", async () => {
      expect(await create("a", "--start-after-create=false")).toMatchObject({ code: 0 });
      expect(sim.state().servers).toMatchObject([{ status: "off" }]);
    });

    it("reports a failed action, and the server stays", async () => {
      sim.fault({ method: "POST", action_error: { command: "start_server", code: "no_host", message: "no host" } });
      expect(refusal(await create("a"))).toContain("no host (no_host)");
      expect(await serverNames()).toEqual(["a"]);
    });
  });

  it("server describe shows the server", async () => {
    sim.addServer({ name: "a", created: "2026-11-01T00:00:00+00:00", labels: { env: "ci" }, server_type: "cx33" });
    const text = await succeed("server", "describe", "a");
    for (const part of ["Name:\t\ta", "Status:\t\trunning", "cx33", "env: ci", "debian-13"])
      expect(text).toContain(part);
  });

  it("server add-label and remove-label keep the other labels", async () => {
    sim.addServer({ name: "a", labels: { env: "ci" } });
    await succeed("server", "add-label", "a", "run=7");
    expect(sim.state().servers).toMatchObject([{ labels: { env: "ci", run: "7" } }]);
    await succeed("server", "remove-label", "a", "env");
    expect(sim.state().servers[0]?.labels).toEqual({ run: "7" });
  });

  it("a protected server is not deleted until the protection is lifted", async () => {
    sim.addServer({ name: "a" });
    await succeed("server", "enable-protection", "a", "delete", "rebuild");
    expect(refusal(await run("server", "delete", "a"))).toContain("server deletion is protected (protected)");
    await succeed("server", "disable-protection", "a", "delete", "rebuild");
    await succeed("server", "delete", "a");
    expect(await serverNames()).toEqual([]);
  });

  it("server poweroff, poweron, reboot, reset and shutdown wait for their actions", async () => {
    sim.addServer({ name: "a" });
    const statuses: (string | undefined)[] = [];
    for (const command of ["poweroff", "poweron", "reboot", "reset", "shutdown"]) {
      await succeed("server", command, "a");
      statuses.push(sim.state().servers[0]?.status);
    }
    expect(statuses).toEqual(["off", "running", "running", "running", "off"]);
  });

  it("server-type list, describe and location list show the catalogue", async () => {
    const types = lines(await succeed("server-type", "list", "-o", "noheader", "-o", "columns=name"));
    expect(types).toEqual(expect.arrayContaining(["cx23", "cax11", "cpx11", "ccx23"]));
    expect(await succeed("server-type", "describe", "cx23")).toContain("nbg1");
    const locations = lines(await succeed("location", "list", "-o", "noheader", "-o", "columns=name"));
    expect(locations).toEqual(["fsn1", "nbg1", "hel1", "ash", "hil", "sin"]);
  });

  it("image list shows each name once per architecture", async () => {
    const images = lines(await succeed("image", "list", "-o", "noheader", "-o", "columns=name"));
    expect(images.filter((name) => name === "debian-13")).toHaveLength(2);
  });

  it.each(["ssh-key", "network", "firewall", "volume"])("%s list is empty", async (kind) => {
    expect(lines(await succeed(kind, "list", "-o", "noheader"))).toEqual([]);
  });

  it("primary-ip list shows the addresses of a server", async () => {
    await create("a");
    const addresses = lines(await succeed("primary-ip", "list", "-o", "noheader"));
    expect(addresses).toHaveLength(2);
    expect(addresses[0]).toMatch(/^\d+ +ipv4 .*(203\.0\.113|198\.51\.100|192\.0\.2)\.\d+ +Server a /);
    expect(addresses[1]).toMatch(/^\d+ +ipv6 .*2001:db8:0:[0-9a-f]+:: +Server a /);
  });

  it("datacenter list prints that it has been removed", async () => {
    expect(refusal(await run("datacenter", "list"))).toContain("(deprecated_api_endpoint)");
  });

  it("notices a connection that is cut after the server was made", async () => {
    sim.fault({ method: "POST", path: "/servers$", drop: "after" });
    expect(refusal(await create("a"))).toContain("EOF");
    expect(await serverNames()).toEqual(["a"]);
  });
});

describe("the socket server", () => {
  it("says in plain words that a port is taken", async () => {
    const server = await serveSimulator(createSimulator(), 0);
    const port = Number(new URL(server.url).port);
    await expect(serveSimulator(createSimulator(), port)).rejects.toThrow("the port is taken");
    await server.close();
  });

  it("cuts the connection where a fault says so, and serves on", async () => {
    const sim = createSimulator();
    const server = await serveSimulator(sim, 0);
    sim.fault({ drop: "before" });
    const get = (): Promise<Response> => fetch(`${server.url}/v1/servers`, { headers: { Authorization: "Bearer x" } });
    await expect(get()).rejects.toThrow("fetch failed");
    const { status } = await get();
    await server.close();
    expect(status).toBe(200);
  });

  it("survives a caller that hangs up during a delay", async () => {
    const sim = createSimulator();
    const server = await serveSimulator(sim, 0);
    sim.fault({ path: "^/v1/servers$", delay_ms: 3_600_000 });
    const url = `${server.url}/v1/servers`;
    await expect(fetch(url, { signal: AbortSignal.timeout(50) })).rejects.toThrow("timeout");
    const { status } = await fetch(url);
    await server.close();
    expect(status).toBe(401);
  });
});
