// Names and descriptions of the platform's roles. All other roles go by their names.

import { settings } from "../../settings.ts";
import { named, type TextId, t } from "../../texts/text.tsx";

const prefix = `${settings.name}:`;

/** Roles of every server, which makes those that are missing when it starts. */
const BUILT_IN = {
  admin: "role.about.admin",
  authenticated: "role.about.authenticated",
  directory: "role.about.directory",
  "project-admin": "role.about.project-admin",
  "project-user": "role.about.project-user",
  "project-viewer": "role.about.project-viewer",
  "public-info-viewer": "role.about.public-info-viewer",
} as const satisfies { readonly [name: string]: TextId };

export const builtInRole = (role: string): string => prefix + role;

export const roleName = (role: string): string =>
  role.startsWith(prefix) ? named("role", role.slice(prefix.length)) : role;

/** A sentence about a built-in role; undefined for others. */
export function aboutRole(role: string): string | undefined {
  const [, about] = Object.entries(BUILT_IN).find(([name]) => builtInRole(name) === role) ?? [];
  return about === undefined ? undefined : t(about);
}
