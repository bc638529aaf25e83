/** The answers to changes that are not done. */
import * as z from "zod";
import type { Simulator } from "../../simulator/simulator.ts";

const labelled = z.looseObject({ labels: z.record(z.string(), z.string()).optional() });
const named = labelled.extend({ name: z.string() });

const actionOf = (command: string, id: number) => ({
  id,
  command,
  status: "success",
  progress: 100,
  started: new Date(0).toISOString(),
  finished: new Date(0).toISOString(),
  resources: [{ id, type: "server" }],
  error: null,
});

/**
 * What the provider would answer if it did what it is asked, and it has not; null where it would not answer well. `nowhere` is the id of
 * what is not made: one that nothing has.
 */
export async function confirm(
  request: Request,
  on: string,
  { state }: Pick<Simulator, "state">,
  { nowhere, now }: { readonly nowhere: number; readonly now: number },
): Promise<Response | null> {
  const { pathname } = new URL(request.url);
  const id = Number(pathname.split("/").at(-1));
  const server = state().servers.find((one) => one.id === id);
  const body = async (): Promise<unknown> => request.clone().json();
  switch (on) {
    case "relabel": {
      if (server === undefined) return null;
      const { user_data: _data, ssh_keys: _keys, ...shown } = server;
      const { labels = shown.labels } = labelled.parse(await body());
      return Response.json({ server: { ...shown, labels } });
    }
    case "destroy":
      return server === undefined ? null : Response.json({ action: actionOf("delete_server", id) });
    case "create": {
      const { name, labels = {} } = named.parse(await body());
      // Names are unique: nothing would be made.
      if (state().servers.some((one) => one.name === name)) return null;
      const made = {
        id: nowhere,
        name,
        labels,
        created: timeOf(now),
        status: "initializing",
        public_net: {},
        private_net: [],
      };
      return Response.json(
        { server: made, action: actionOf("create_server", nowhere), next_actions: [], root_password: null },
        { status: 201 },
      );
    }
    case "make": {
      const kind = pathname.split("/").at(-1)?.replace(/s$/, "") ?? "";
      const empty = { applied_to: [], servers: [], routes: [], load_balancers: [] };
      const made = { ...empty, ...labelled.parse(await body()), id: nowhere, created: timeOf(now) };
      return Response.json({ [kind]: made, actions: [] }, { status: 201 });
    }
    case "unmake":
      return new Response(null, { status: 204 });
    default:
      return null;
  }
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
