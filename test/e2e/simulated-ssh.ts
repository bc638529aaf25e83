// Debian's own sshd at a simulated machine's address, which this machine takes for that long. Only root can do that, where the system lets it.
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Simulator } from "../simulator/simulator.ts";

const execute = promisify(execFile);
const SSHD = "/usr/sbin/sshd";

/** Whether this machine can stand for another: it has an sshd, and may take addresses. */
export async function canServeSsh(): Promise<boolean> {
  try {
    await execute(SSHD, ["-V"]).catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") throw error;
    });
    // Of its own, because another process may ask the same just now.
    const address = `198.19.255.${1 + (process.pid % 250)}/32`;
    await execute("ip", ["addr", "add", address, "dev", "lo"]);
    await execute("ip", ["addr", "del", address, "dev", "lo"]);
    return true;
  } catch {
    return false;
  }
}

/** Serves SSH at the address of the one server that is to come, to whoever has one of the keys that were ordered with it. */
export async function serveSsh(controls: Simulator): Promise<{ stop(): Promise<void> }> {
  const server = async () => {
    for (;;) {
      const { servers, ssh_keys: keys } = controls.state();
      const ip = servers[0]?.public_net.ipv4?.ip;
      if (ip !== undefined) return { ip, keys: keys.map((key) => key.public_key) };
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const { ip, keys } = await server();
  const folder = await mkdtemp(join(tmpdir(), "mayfly-sshd-"));
  await writeFile(join(folder, "authorized_keys"), `${keys.join("\n")}\n`, { mode: 0o600 });
  await execute("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "host")]);
  await mkdir("/run/sshd", { recursive: true });
  await execute("ip", ["addr", "add", `${ip}/32`, "dev", "lo"]);
  const options = [`ListenAddress=${ip}`, `AuthorizedKeysFile=${folder}/authorized_keys`, `HostKey=${folder}/host`];
  const more = ["PidFile=none", "StrictModes=no", "UsePAM=no", "PermitRootLogin=prohibit-password"];
  const child = spawn(SSHD, ["-D", "-f", "/dev/null", ...[...options, ...more].flatMap((one) => ["-o", one])]);
  return {
    async stop() {
      child.kill();
      await execute("ip", ["addr", "del", `${ip}/32`, "dev", "lo"]);
      await rm(folder, { recursive: true });
    },
  };
}
