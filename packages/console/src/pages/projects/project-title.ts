// How pages name a project: by its display name, with the name beside it where they differ.

import type { Project } from "@postern/api/project";
import { nameOf } from "../../api/resources.ts";
import { t } from "../../texts/text.tsx";

/** `The shop (shop)`, or the name alone. */
export function nameWithTitle(project: Project): string {
  const name = nameOf(project);
  const title = project.spec?.displayName || name;
  return title === name ? name : t("title.withName", { title, name });
}
