/** Which project a token of the provider rules: ours, or another one, which is empty and may have nothing. */
import { createDrivenSimulator } from "../../driven-simulator.ts";
import type { Books } from "../judge/books.ts";
import type { Clock, Provider } from "./provider.ts";
import { PROVIDER_TOKENS } from "./settings.ts";

/** What it takes on the histories' clock. */
const CALL_MS = 100;

/** The provider as those meet it who send such tokens. */
export function openProjects(ours: Pick<Provider, "call">, clock: Clock, books: Books): Pick<Provider, "call"> {
  const empty = createDrivenSimulator({ now: () => clock.now + clock.skew });
  return {
    async call(request, installation, reads) {
      if (request.headers.get("Authorization") !== `Bearer ${PROVIDER_TOKENS.elsewhere}`)
        return ours.call(request, installation, reads);
      clock.now += CALL_MS;
      const { pathname } = new URL(request.url);
      books.trace.push(`elsewhere: ${request.method} ${pathname}`);
      // Each DELETE comes after a look, and a look shows nothing here.
      if (request.method === "DELETE") books.broken.push(`I2: DELETE of ${pathname} in a project where it is not`);
      if (request.method !== "POST") return empty.fetch(request);
      const error = { code: "resource_limit_exceeded", message: "project limit exceeded", details: null };
      return Response.json({ error }, { status: 403 });
    },
  };
}
