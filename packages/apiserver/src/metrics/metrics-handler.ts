// Answers `/metrics`.

import type { Registry } from "prom-client";
import type { ApiResponse } from "../transport/api-response.ts";
import { textResponse } from "../transport/api-response.ts";

export const createMetricsHandler = (registry: Registry) => async (): Promise<ApiResponse> =>
  textResponse(200, await registry.metrics(), { "content-type": registry.contentType });
