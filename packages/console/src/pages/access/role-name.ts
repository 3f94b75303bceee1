// Names and descriptions of the platform's roles. All other roles go by their names.

import { settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";

const prefix = `${settings.name}:`;

/** Roles of every server, which makes those that are missing when it starts. */
const BUILT_IN = [
  ...(["admin", "authenticated", "directory", "public-info-viewer"] as const),
  ...(["project-admin", "project-reader", "project-user", "project-viewer"] as const),
] as const;

export const builtInRole = (role: string): string => prefix + role;

const builtInName = (role: string) => BUILT_IN.find((name) => builtInRole(name) === role);

export const isBuiltInRole = (role: string): boolean => builtInName(role) !== undefined;

export function roleName(role: string): string {
  const name = builtInName(role);
  return name === undefined ? role : t(`role.named.${name}`);
}

/** A sentence about a built-in role; undefined for others. */
export function aboutRole(role: string): string | undefined {
  const name = builtInName(role);
  return name === undefined ? undefined : t(`role.about.${name}`);
}
