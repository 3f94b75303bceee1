// Serves `/healthz`, `/livez` and `/readyz`, and single checks.
// Source: k8s.io/apiserver/pkg/server/healthz/healthz.go

import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { Logger } from "../logging/logger.ts";
import { type ApiResponse, textResponse } from "../transport/api-response.ts";
import { type HealthCheck, NotReadyError } from "./health-check.ts";

/** The checks behind each path, in the order in which they are listed. */
export type HealthChecks = {
  readonly healthz: readonly HealthCheck[];
  readonly livez: readonly HealthCheck[];
  readonly readyz: readonly HealthCheck[];
};

/** Takes the result of a check that ran for a path, such as `readyz`. */
export type ObserveHealth = (check: string, endpoint: string, isHealthy: boolean) => void;

export type HealthRequest = { readonly path: string; readonly query: URLSearchParams };

/** Undefined for paths that name no check. */
export function createHealthHandler(
  checks: HealthChecks,
  logger: Logger,
  observe?: ObserveHealth,
): (request: HealthRequest) => Promise<ApiResponse> | undefined {
  const endpoints: ReadonlyMap<string, readonly HealthCheck[]> = new Map(Object.entries(checks));
  return ({ path, query }) => {
    const [, endpoint = ""] = path.split("/", 2);
    const listed = endpoints.get(endpoint);
    if (listed === undefined) return undefined;
    if (path === `/${endpoint}`) return answerAll({ endpoint, checks: listed, logger, observe }, query);
    const name = path.slice(endpoint.length + 2);
    const single = listed.find((check) => check.name === name);
    return single === undefined ? undefined : answerOne(single);
  };
}

type Endpoint = {
  readonly endpoint: string;
  readonly checks: readonly HealthCheck[];
  readonly logger: Logger;
  readonly observe: ObserveHealth | undefined;
};

async function answerAll(
  { endpoint, checks, logger, observe }: Endpoint,
  query: URLSearchParams,
): Promise<ApiResponse> {
  const excluded = new Set(query.getAll("exclude"));
  const results = await Promise.all(
    checks.map(async (check) => (excluded.delete(check.name) ? "excluded" : await run(check))),
  );
  let lines = "";
  for (const [at, result] of results.entries()) {
    const name = checks[at]?.name ?? "";
    if (result !== "excluded") observe?.(name, endpoint, result === undefined);
    if (result === "excluded") lines += `[+]${name} excluded: ok\n`;
    else if (result === undefined) lines += `[+]${name} ok\n`;
    else {
      // Open to all clients; the reason goes to the log.
      lines += `[-]${name} failed: reason withheld\n`;
      const reason = result instanceof NotReadyError ? { cause: result.message } : { error: result };
      logger.warn({ ...reason, check: name, component: endpoint }, "health check failed");
    }
  }
  if (excluded.size > 0) {
    lines += `warn: some health checks cannot be excluded: no matches for ${[...excluded].sort().map(quoteGo).join(",")}\n`;
  }
  const failed = results.some((result) => result instanceof Error);
  if (failed) return textResponse(500, `${lines}${endpoint} check failed\n`);
  return textResponse(200, query.has("verbose") ? `${lines}${endpoint} check passed\n` : "ok");
}

async function answerOne(check: HealthCheck): Promise<ApiResponse> {
  const error = await run(check);
  return error === undefined ? textResponse(200, "ok") : textResponse(500, `internal server error: ${error.message}\n`);
}

async function run(check: HealthCheck): Promise<Error | undefined> {
  try {
    await check.check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error("unknown failure");
  }
}
