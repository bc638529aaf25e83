import { connect } from "node:net";

/** Whether something that speaks SSH answers there, within five seconds. */
export const speaksSsh = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 5000 });
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("data", (bytes) => end(bytes.toString("latin1").startsWith("SSH-")));
    for (const event of ["error", "timeout", "close"]) socket.once(event, () => end(false));
  });
