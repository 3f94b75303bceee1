// Probes and metrics of an agent, over plain HTTP.

import { createServer, type Server } from "node:http";
import type { ForwardCounts } from "./forward-requests.ts";
import type { Connections } from "./keep-connected.ts";

export type ProbesDeps = {
  readonly port: number;
  readonly connections: Pick<Connections, "open" | "failures">;
  readonly counts: ForwardCounts;
  /** While it is true, the agent is not ready. */
  readonly isStopping: () => boolean;
};

/** Resolves when the port is listened on. */
export async function serveProbes({ port, connections, counts, isStopping }: ProbesDeps): Promise<Server> {
  const server = createServer(({ url = "" }, response) => {
    const answer = (status: number, text: string): void =>
      void response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
    if (url === "/healthz") answer(200, "ok\n");
    else if (url === "/readyz") {
      const isReady = connections.open > 0 && !isStopping();
      answer(isReady ? 200 : 503, isReady ? "ok\n" : "no tunnel is open\n");
    } else if (url === "/metrics") answer(200, metricsText(connections, counts));
    else answer(404, "not found\n");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, resolve);
  });
  return server;
}

function metricsText({ open, failures }: ProbesDeps["connections"], counts: ForwardCounts): string {
  const rows = [
    ["postern_agent_tunnels", "gauge", "Tunnels that are open", open],
    ["postern_agent_dial_failures_total", "counter", "Attempts to open a tunnel that failed", failures],
    ["postern_agent_requests_total", "counter", "Requests that were forwarded to the API server", counts.requests],
    ["postern_agent_request_failures_total", "counter", "Requests that did not reach the API server", counts.failures],
    ["postern_agent_connections", "gauge", "Connections to the API server that are open", counts.connections],
    ["process_resident_memory_bytes", "gauge", "Resident memory", process.memoryUsage.rss()],
  ] as const;
  return rows
    .map(([name, type, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`)
    .join("");
}
