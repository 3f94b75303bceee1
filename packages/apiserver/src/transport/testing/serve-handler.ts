// Serves a handler on a real TLS socket for the time of one test.

import { onTestFinished } from "vitest";
import { silentLogger } from "../../logging/logger.ts";
import { systemRuntime } from "../../runtime/system-runtime.ts";
import type { ApiRequest } from "../api-request.ts";
import { type ApiResponse, jsonResponse, type ResponseBody } from "../api-response.ts";
import type { ApiHandler } from "../exchange/serve-exchange.ts";
import { createHttpTransport, type HttpTransport } from "../listener/http-transport.ts";
import type { HttpTransportOptions } from "../listener/http-transport-options.ts";
import type { TransportLimits } from "../transport-limits.ts";
import { createTestCertificate } from "./test-certificates.ts";

export const serverCertificate = createTestCertificate();

export async function serveHandler(
  handler: ApiHandler,
  limits: Partial<TransportLimits> = {},
  told: Partial<
    Pick<HttpTransportOptions, "onTakenBack" | "trustedProxies" | "faults" | "scheduler" | "goawayChance">
  > = {},
): Promise<{ readonly port: number; readonly transport: HttpTransport }> {
  const transport = createHttpTransport({
    tls: serverCertificate,
    bindAddress: "127.0.0.1",
    port: 0,
    handler,
    limits,
    clock: systemRuntime.clock,
    scheduler: systemRuntime.scheduler,
    random: systemRuntime.random,
    logger: silentLogger,
    ...told,
  });
  const { port } = await transport.listen();
  onTestFinished(() => transport.close({ drainMs: 0 }));
  return { port, transport };
}

/** Answers with what the server understood. */
export const echo = async (request: ApiRequest): Promise<ApiResponse> => {
  const { method, path, httpVersion, remoteAddress, host, headers } = request;
  const body = Buffer.from(await request.body(1 << 20)).toString();
  const query = Object.fromEntries(request.query);
  return jsonResponse(200, JSON.stringify({ method, path, query, httpVersion, remoteAddress, host, headers, body }));
};

export const streamResponse = (run: Extract<ResponseBody, { type: "stream" }>["run"]): ApiResponse => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body: { type: "stream", run },
});
