// The groups that a key or a user may be given at all, whoever gives them.

import { type FieldError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";

/** Groups of the system's own, such as system:masters, are never given by name. */
export const validateGroups = (groups: readonly string[], path: string): readonly FieldError[] =>
  groups.flatMap((group, index) => {
    const at = indexPath(path, index);
    if (group === "") return [requiredError(at)];
    // Looked at without the space and the case that somebody might hope to slip through with.
    if (group.trim().toLowerCase().startsWith("system:")) {
      return [invalidError(at, group, "groups that begin with system: are reserved")];
    }
    return [];
  });
