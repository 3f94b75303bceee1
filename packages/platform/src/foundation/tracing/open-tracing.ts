// Begins to trace where the environment names a collector, by the variables that all programs with OpenTelemetry know. The SDK is loaded only
// then.
// Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/

import { access, constants } from "node:fs/promises";
import { ConfigurationError } from "../config/configuration-error.ts";
import { type OpenedTracing, type OpenTracingDeps, readTracingSettings } from "./tracing-settings.ts";

/** Undefined if tracing is not configured. Rejects with ConfigurationError for invalid variables. */
export async function openTracing(deps: OpenTracingDeps): Promise<OpenedTracing | undefined> {
  const settings = readTracingSettings(deps.environment);
  if (settings === undefined) return undefined;
  for (const { name, value } of settings.files) {
    await access(value, constants.R_OK).catch((error: unknown) => {
      throw new ConfigurationError(`${name}: cannot read the file ${value}`, { cause: error });
    });
  }
  const { startOpenTelemetry } = await import("./open-telemetry.ts");
  return startOpenTelemetry(settings, deps);
}
