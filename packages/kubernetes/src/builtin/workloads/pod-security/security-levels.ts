// Labels of a namespace that say which pods it takes, and about which pods its clients are warned.
// Source: k8s.io/pod-security-admission/api/helpers.go (PolicyToEvaluate)

import { type FieldError, invalidError, keyPath } from "@postern/apimachinery/validation/field-error";
import type { StandardVersion } from "./pod-checks.ts";

export type SecurityLevel = "privileged" | "baseline" | "restricted";
export type LevelVersion = { readonly level: SecurityLevel; readonly version: StandardVersion };
/** The levels by which pods are refused, and clients warned. */
export type SecurityPolicy = { readonly enforce: LevelVersion; readonly warn: LevelVersion };

const PREFIX = "pod-security.kubernetes.io/";
const LEVELS: readonly SecurityLevel[] = ["privileged", "baseline", "restricted"];
const LATEST = Number.POSITIVE_INFINITY;
const OPEN: LevelVersion = { level: "privileged", version: LATEST };

type Labels = { readonly [name: string]: string };

const levelOf = (text: string | undefined): SecurityLevel | undefined => LEVELS.find((level) => level === text);

function versionOf(text: string | undefined): StandardVersion | undefined {
  if (text === "latest") return LATEST;
  const [, minor] = /^v1\.(0|[1-9][0-9]*)$/.exec(text ?? "") ?? [];
  return minor === undefined ? undefined : Number(minor);
}

/** A faulty level is the strictest where pods are refused, and none where clients are warned. */
export function securityPolicyOf(labels: Labels = {}): SecurityPolicy {
  const given = (name: string): string | undefined => labels[`${PREFIX}${name}`];
  const [enforced, warned] = [given("enforce"), given("warn")];
  const enforce: LevelVersion = {
    level: enforced === undefined ? OPEN.level : (levelOf(enforced) ?? "restricted"),
    version: versionOf(given("enforce-version")) ?? LATEST,
  };
  const isWarnedAsEnforced = warned === undefined && levelOf(enforced) !== undefined && enforce.level !== OPEN.level;
  const warnVersion = given("warn-version");
  const version =
    warnVersion === undefined && isWarnedAsEnforced ? enforce.version : (versionOf(warnVersion) ?? LATEST);
  return { enforce, warn: { level: isWarnedAsEnforced ? enforce.level : (levelOf(warned) ?? OPEN.level), version } };
}

/** The faults of the labels of a namespace. */
export const securityLabelFaults = (labels: Labels = {}): readonly FieldError[] =>
  ["enforce", "audit", "warn"].flatMap((mode) => {
    const fault = (name: string, isValid: (text: string) => boolean, why: string): readonly FieldError[] => {
      const text = labels[name];
      return text === undefined || isValid(text) ? [] : [invalidError(keyPath("metadata.labels", name), text, why)];
    };
    return [
      ...fault(`${PREFIX}${mode}`, (text) => levelOf(text) !== undefined, `must be one of ${LEVELS.join(", ")}`),
      ...fault(`${PREFIX}${mode}-version`, (text) => versionOf(text) !== undefined, 'must be "latest" or "v1.x"'),
    ];
  });

export const isStricter = (one: SecurityLevel, other: SecurityLevel): boolean =>
  LEVELS.indexOf(one) > LEVELS.indexOf(other);

/** Such as `restricted:latest`. */
export const levelText = ({ level, version }: LevelVersion): string =>
  `${level}:${version === LATEST ? "latest" : `v1.${version}`}`;
