// Converts metrics to and from the form of the annotations: that of v1, with flat targets.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { MetricSpec, MetricStatus } from "./horizontal-pod-autoscaler.ts";

/** Without members that are absent. */
const defined = (members: { readonly [name: string]: JsonValue | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(members).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));

export const objectAt = (from: JsonObject | undefined, member: string): JsonObject | undefined => {
  const value = from?.[member];
  return isJsonObject(value) ? value : undefined;
};

export function metricToV1(metric: MetricSpec): JsonObject {
  const { type, ...sources } = metric;
  return { type: type ?? "", ...mapSources(sources, (source, member) => flat(source, member, "target")) };
}

export const statusToV1 = (status: MetricStatus): JsonObject => {
  const { type, ...sources } = status;
  return { type: type ?? "", ...mapSources(sources, (source, member) => flat(source, member, "current")) };
};

export const metricFromV1 = (metric: JsonObject): readonly MetricSpec[] => [
  {
    ...mapSources(metric, (source, member) => nested(source, member, "target")),
    type: textIn(metric, "type"),
  },
];

export const statusFromV1 = (status: JsonObject): readonly JsonObject[] => [
  { ...mapSources(status, (source, member) => nested(source, member, "current")), type: textIn(status, "type") },
];

const textIn = (from: JsonObject, member: string): string => {
  const value = from[member];
  return typeof value === "string" ? value : "";
};

const SOURCES = ["object", "pods", "resource", "containerResource", "external"] as const;
type SourceMember = (typeof SOURCES)[number];

const mapSources = (
  metric: JsonObject,
  convert: (source: JsonObject, member: SourceMember) => JsonObject,
): JsonObject =>
  Object.fromEntries(
    SOURCES.flatMap((member) => {
      const source = objectAt(metric, member);
      return source === undefined ? [] : [[member, convert(source, member)]];
    }),
  );

type Part = "target" | "current";
const isResource = (member: SourceMember): boolean => member === "resource" || member === "containerResource";
const named = (part: Part, value: string): string => `${part}${value}`;

function flat(source: JsonObject, member: SourceMember, part: Part): JsonObject {
  const amounts = objectAt(source, part);
  const metric = objectAt(source, "metric");
  if (isResource(member)) {
    return defined({
      name: source["name"],
      [named(part, "AverageUtilization")]: amounts?.["averageUtilization"],
      [named(part, "AverageValue")]: amounts?.["averageValue"],
      container: source["container"],
    });
  }
  if (member === "object") {
    return defined({
      target: source["describedObject"],
      metricName: metric?.["name"],
      [named(part, "Value")]: amounts?.["value"] ?? "0",
      selector: metric?.["selector"],
      averageValue: amounts?.["averageValue"],
    });
  }
  if (member === "pods") {
    return defined({
      metricName: metric?.["name"],
      [named(part, "AverageValue")]: amounts?.["averageValue"] ?? "0",
      selector: metric?.["selector"],
    });
  }
  return defined({
    metricName: metric?.["name"],
    metricSelector: metric?.["selector"],
    [named(part, "Value")]: amounts?.["value"],
    [named(part, "AverageValue")]: amounts?.["averageValue"],
  });
}

function nested(source: JsonObject, member: SourceMember, part: Part): JsonObject {
  const utilization = source[named(part, "AverageUtilization")];
  const averageValue = member === "object" ? source["averageValue"] : source[named(part, "AverageValue")];
  // v1 writes an Object's value even if the average counts.
  const given = source[named(part, "Value")];
  const value = member === "object" && averageValue !== undefined ? undefined : given;
  const type = utilization !== undefined ? "Utilization" : averageValue !== undefined ? "AverageValue" : "Value";
  const amounts = defined({
    ...(part === "target" ? { type } : {}),
    value,
    averageValue,
    averageUtilization: utilization,
  });
  if (isResource(member)) return defined({ name: source["name"], [part]: amounts, container: source["container"] });
  const selector = member === "external" ? source["metricSelector"] : source["selector"];
  const metric = defined({ name: source["metricName"], selector });
  return defined({
    ...(member === "object" ? { describedObject: source["target"] } : {}),
    metric,
    [part]: amounts,
  });
}
