// Requirements of the probes of a container, and of what it runs at its start and end.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (validateProbe, validateHandler)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { choiceFaults, negativeFaults, portFaults, portOrNameFaults } from "../../field-checks.ts";
import { listAt, numberAt, objectAt, optionalObjectAt, optionalTextAt } from "../json-members.ts";

export const validateProbes = (container: JsonValue, path: string): readonly FieldError[] => [
  ...["postStart", "preStop"].flatMap((name) => {
    const hook = optionalObjectAt(objectAt(container, "lifecycle"), name);
    return hook === undefined
      ? []
      : handlerFaults(hook, `${path}.lifecycle.${name}`, ["exec", "httpGet", "tcpSocket", "sleep"]);
  }),
  ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((name) => {
    const probe = optionalObjectAt(container, name);
    return probe === undefined ? [] : probeFaults(probe, `${path}.${name}`, name);
  }),
];

const COUNTS = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];

function probeFaults(probe: JsonValue, path: string, name: string): readonly FieldError[] {
  const [threshold, grace] = [numberAt(probe, "successThreshold"), numberAt(probe, "terminationGracePeriodSeconds")];
  const isReadiness = name === "readinessProbe";
  return [
    ...handlerFaults(probe, path, ["exec", "httpGet", "tcpSocket", "grpc"]),
    ...COUNTS.flatMap((count) => negativeFaults(`${path}.${count}`, numberAt(probe, count))),
    ...(!isReadiness && threshold !== undefined && threshold !== 1
      ? [invalidError(`${path}.successThreshold`, threshold, "must be 1")]
      : []),
    ...(isReadiness && grace !== undefined
      ? [invalidError(`${path}.terminationGracePeriodSeconds`, grace, "must not be set for readinessProbes")]
      : []),
    ...(!isReadiness && grace !== undefined && grace <= 0
      ? [invalidError(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than 0")]
      : []),
  ];
}

/** One of the ways in which a container is asked. */
function handlerFaults(handler: JsonValue, path: string, known: readonly string[]): readonly FieldError[] {
  const [first, ...others] = known.filter((name) => optionalObjectAt(handler, name) !== undefined);
  if (first === undefined) return [requiredError(path, "must specify a handler type")];
  return [
    ...wayFaults(objectAt(handler, first), `${path}.${first}`, first),
    ...others.map((name) => forbiddenError(`${path}.${name}`, "may not specify more than 1 handler type")),
  ];
}

function wayFaults(way: JsonValue, path: string, name: string): readonly FieldError[] {
  switch (name) {
    case "exec":
      return listAt(way, "command").length === 0 ? [requiredError(`${path}.command`)] : [];
    case "grpc":
      return portFaults(`${path}.port`, numberAt(way, "port") ?? 0);
    case "tcpSocket":
      return portOf(way, path);
    case "httpGet":
      return [
        ...portOf(way, path),
        ...choiceFaults(`${path}.scheme`, optionalTextAt(way, "scheme"), ["HTTP", "HTTPS"]),
      ];
    default:
      return [];
  }
}

const portOf = (way: JsonValue, path: string): readonly FieldError[] =>
  portOrNameFaults(`${path}.port`, optionalTextAt(way, "port") ?? numberAt(way, "port") ?? 0);
