import type { Scene } from "../acts.ts";
import { isOf } from "../world/truth.ts";

/** mayfly was at work while the provider did not show some of ours, or when one has landed that nobody waited for any more. */
export function noteUnseen({
  provider,
  installation,
  judge,
  books,
}: Pick<Scene, "provider" | "installation" | "judge" | "books">): void {
  for (const server of provider.simulator.state().servers) {
    const hasLanded = provider.isOdd(server.id) && !books.unseenAt.has(server.id);
    if (isOf(server, installation) && (provider.isUnseen(server.id) || hasLanded)) judge.unseen(server);
  }
}
