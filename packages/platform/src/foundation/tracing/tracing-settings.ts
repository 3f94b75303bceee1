// Variables of OpenTelemetry.
// Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/

import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import { ConfigurationError } from "../config/configuration-error.ts";
import type { Environment } from "../config/environment.ts";

export type OpenTracingDeps = {
  readonly environment: Environment;
  readonly logger: Logger;
  readonly metrics: Pick<ServerMetrics, "registry">;
  readonly scheduler: Scheduler;
};

export type OpenedTracing = Tracing & AsyncDisposable;

export type TracingSettings = {
  readonly protocol: "http/protobuf" | "http/json";
  /** Whether requests carry on the trace of their caller, and take it to others. */
  readonly propagates: boolean;
  /** Files for the connection to the collector, each with its variable. */
  readonly files: readonly { readonly name: string; readonly value: string }[];
};

const SAMPLERS = ["always_on", "always_off", "traceidratio"].flatMap((name) => [name, `parentbased_${name}`]);
const PROTOCOLS = ["http/protobuf", "http/json"] as const;

/** Undefined if the variables name no collector, or disable tracing. Throws ConfigurationError. */
export function readTracingSettings(environment: Environment): TracingSettings | undefined {
  const variable = (name: string): string => environment[name]?.trim() ?? "";
  const ofTraces = (name: string): { readonly name: string; readonly value: string } => {
    const own = `OTEL_EXPORTER_OTLP_TRACES_${name}`;
    const shared = `OTEL_EXPORTER_OTLP_${name}`;
    return variable(own) === "" ? { name: shared, value: variable(shared) } : { name: own, value: variable(own) };
  };
  const endpoint = ofTraces("ENDPOINT");
  const exporter = variable("OTEL_TRACES_EXPORTER");
  if (variable("OTEL_SDK_DISABLED").toLowerCase() === "true" || exporter === "none") return undefined;
  if (endpoint.value === "" && exporter !== "otlp") return undefined;

  const oneOf = <const T extends string>(name: string, value: string, known: readonly T[], note = ""): T => {
    const found = known.find((each) => each === value);
    if (found === undefined) {
      throw new ConfigurationError(`${name} must be one of ${known.join(", ")}${note}, not ${JSON.stringify(value)}`);
    }
    return found;
  };
  if (exporter !== "") oneOf("OTEL_TRACES_EXPORTER", exporter, ["otlp", "none"]);
  // The value is in no text: it may have a password in it.
  if (endpoint.value !== "" && !isHttpUrl(endpoint.value)) {
    throw new ConfigurationError(`${endpoint.name} must be an http or https URL, such as http://collector:4318`);
  }
  const protocol = ofTraces("PROTOCOL");
  const sampler = variable("OTEL_TRACES_SAMPLER");
  if (sampler !== "") oneOf("OTEL_TRACES_SAMPLER", sampler, SAMPLERS);
  const ratio = variable("OTEL_TRACES_SAMPLER_ARG");
  if (sampler.endsWith("traceidratio") && !isRatio(ratio)) {
    throw new ConfigurationError(
      `OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1 with ${sampler}, not ${JSON.stringify(ratio)}`,
    );
  }
  const propagators = variable("OTEL_PROPAGATORS");
  return {
    files: ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"].map(ofTraces).filter(({ value }) => value !== ""),
    protocol:
      protocol.value === ""
        ? "http/protobuf"
        : oneOf(protocol.name, protocol.value, PROTOCOLS, " (port 4318 of most collectors)"),
    propagates: propagators === "" || propagators.split(",").some((name) => name.trim() === "tracecontext"),
  };
}

const isHttpUrl = (text: string): boolean => URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);

const isRatio = (text: string): boolean => /^(0|1|0?\.\d+|[01]\.\d+)$/.test(text) && Number(text) <= 1;
