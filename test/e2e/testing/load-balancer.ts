// HAProxy in front of servers, as operators run it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export type LoadBalancer = AsyncDisposable & { readonly port: number };

export type LoadBalancerOptions = {
  /** For its configuration. */
  readonly folder: string;
  /** Port of the server on 127.0.0.1. */
  readonly target: number;
  /** `tcp` leaves TLS to the server, `http` ends it with the certificate `pem` and asks again over TLS. */
  readonly mode: "tcp" | "http";
  /** Words at the end of the line of the server, such as `send-proxy-v2`. */
  readonly server?: string;
  /** Certificate and key in one PEM file, for `http`. */
  readonly pem?: string;
  /** Further lines of the frontend. */
  readonly frontend?: readonly string[];
};

export async function startLoadBalancer(options: LoadBalancerOptions): Promise<LoadBalancer> {
  const { folder, target, mode, server = "", pem = "", frontend = [] } = options;
  const port = await freePort();
  const file = join(folder, `haproxy-${port}.cfg`);
  const lines = [
    "defaults",
    `  mode ${mode}`,
    "  timeout connect 5s",
    "  timeout client 60s",
    "  timeout server 60s",
    "frontend all",
    `  bind 127.0.0.1:${port}${mode === "http" ? ` ssl crt ${pem} alpn h2,http/1.1` : ""}`,
    ...frontend.map((line) => `  ${line}`),
    "  default_backend servers",
    "backend servers",
    `  server one 127.0.0.1:${target} ${mode === "http" ? "ssl verify none alpn h2,http/1.1 " : ""}${server}`,
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  const child = spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  const gone = once(child, "exit");
  for (let waited = 0; !(await accepts(port)); waited += 50) {
    if (child.exitCode !== null || waited > 10_000) throw new Error(`haproxy does not listen: ${said}`);
    await sleep(50);
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
