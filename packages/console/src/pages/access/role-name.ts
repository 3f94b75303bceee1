// Display names of the platform's roles. All other roles go by their names.

import { settings } from "../../settings.ts";
import { named } from "../../texts/text.tsx";

const prefix = `${settings.name}:`;

export const builtInRole = (role: string): string => prefix + role;

export const roleName = (role: string): string =>
  role.startsWith(prefix) ? named("role", role.slice(prefix.length)) : role;
