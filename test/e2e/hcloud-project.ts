// What the suites of the hcloud command line share: a simulated project and ways to ask for it.
import { hasHcloud, hcloud, type Ended } from "./hcloud-cli.ts";
import { servedProject } from "./official-document-project.ts";

/** Whether the suites can run. */
export const available = hasHcloud();

/** A project that is empty at the beginning of each test; call it inside `describe`. */
export function hcloudProject() {
  const { sim, url, given } = servedProject();
  const run = (...args: string[]): Promise<Ended> => hcloud(url(), args);

  async function succeed(...args: string[]): Promise<string> {
    const ended = await run(...args);
    if (ended.code !== 0) throw new Error(`hcloud ${args.join(" ")}: ${ended.stderr}`);
    return ended.stdout;
  }

  return {
    sim,
    given,
    run,
    succeed,
    /** What a command that must fail printed. */
    refused: async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(...args);
      return code === 1 ? stderr.trim() : `exit code ${code}: ${stdout}${stderr}`;
    },
    /** Runs a command that reads this text from its standard input. */
    runWith: (input: string, ...args: string[]): Promise<Ended> => hcloud(url(), args, input),
    /** Starts an action behind the client's back. */
    act: (id: number, command: string): Promise<Response> =>
      sim.fetch(
        new Request(`${url()}/v1/servers/${id}/actions/${command}`, {
          method: "POST",
          headers: { Authorization: "Bearer other" },
        }),
      ),
    create: (name: string, ...args: string[]): Promise<Ended> =>
      run("server", "create", "--name", name, "--type", "cx23", "--image", "debian-13", ...args),
    /** Columns of a list, a line each. */
    column: async (kind: string, columns: string, ...args: string[]): Promise<string[]> =>
      lines(await succeed(kind, "list", "-o", "noheader", "-o", `columns=${columns}`, ...args)),
    statuses: () => sim.state().servers.map(({ status }) => status),
    /** Every request that was not a GET. */
    writes: () => sim.requests().flatMap(({ method, path }) => (method === "GET" ? [] : [`${method} ${path}`])),
  };
}

/** The lines of a command's output. */
export function lines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
