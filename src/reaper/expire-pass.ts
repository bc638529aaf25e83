import type { Share } from "./budget.ts";
import type { SweepContext } from "./context.ts";
import { hasEnded, logLines } from "./report.ts";
import { sweepExpired } from "./sweep.ts";

/**
 * Destroys what is past its end, for a create that met a limit of the provider's. `ended`: something was destroyed, or another sweep is
 * running, which sees to it. `nothing`: nothing was due, or nothing of it could be destroyed.
 */
export async function expirePass(
  context: SweepContext,
  leaving: Share,
  log: (line: ReturnType<typeof logLines>[number]) => void,
): Promise<"ended" | "nothing"> {
  // Looked at without the lock: under a limit creates come in numbers, and those that have nothing to do would keep cron's sweep out.
  const due = await context.openStore({ readOnly: true }).work.due(context.now(), 1, null);
  if (due.length === 0) return "nothing";
  const report = await sweepExpired(context, leaving);
  if (report === null) return "ended";
  for (const line of logLines(report)) log(line);
  return hasEnded(report) ? "ended" : "nothing";
}
