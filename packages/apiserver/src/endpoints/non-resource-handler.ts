// Serves health, version and metrics.

import type { RequestContext } from "../context/request-context.ts";
import { createHealthHandler, type HealthChecks } from "../health/health-handler.ts";
import type { Logger } from "../logging/logger.ts";
import { healthLinesOf, SLIS_PATH } from "../metrics/health-metrics.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import { type ApiResponse, textResponse } from "../transport/api-response.ts";
import { createVersionHandler, type VersionInfo } from "../version/version-info.ts";

export type NonResourceDeps = {
  readonly health: HealthChecks;
  readonly version: VersionInfo;
  readonly metrics: ServerMetrics;
  /** Resolves with the text of `/metrics`. Default: that of `metrics`. */
  readonly scrape?: (() => Promise<string>) | undefined;
  readonly logger: Logger;
};

/** Responds to a request; undefined for other paths. May throw ApiErrors. */
export type NonResourceHandler = (context: RequestContext) => Awaitable<ApiResponse> | undefined;

export function createNonResourceHandler(deps: NonResourceDeps): NonResourceHandler {
  const { health, version, metrics, logger, scrape = () => metrics.registry.metrics() } = deps;
  const answerHealth = createHealthHandler(health, logger, metrics.health);
  const answerVersion = createVersionHandler(version);
  const answerMetrics = async (select = (scraped: string): string => scraped): Promise<ApiResponse> =>
    textResponse(200, select(await scrape()), { "content-type": metrics.registry.contentType });
  return ({ request, info: { path, isResourceRequest } }) => {
    if (isResourceRequest) return undefined;
    if (path === "/version" || path === "/version/") return answerVersion(request.method);
    if (path === "/metrics") return answerMetrics();
    if (path === SLIS_PATH) return answerMetrics(healthLinesOf);
    return answerHealth({ path, query: request.query });
  };
}

/** The paths it answers, for the list at `/`. */
export const nonResourcePaths = ({ health }: Pick<NonResourceDeps, "health">): readonly string[] => [
  ...Object.entries(health).flatMap(([endpoint, checks]) => [
    `/${endpoint}`,
    ...checks.map(({ name }) => `/${endpoint}/${name}`),
  ]),
  "/metrics",
  SLIS_PATH,
  "/version",
];
