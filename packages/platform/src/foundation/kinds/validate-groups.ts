// The groups that keys and users may have.

import { type FieldError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";

/** Groups of the system's own, such as system:masters, are never given by name. */
export const validateGroups = (groups: readonly string[], path: string): readonly FieldError[] =>
  groups.flatMap((group, index) => {
    const at = indexPath(path, index);
    if (group === "") return [requiredError(at)];
    // Compared without spaces and case, which could be used to evade the check.
    if (group.trim().toLowerCase().startsWith("system:")) {
      return [invalidError(at, group, "groups that begin with system: are reserved")];
    }
    return [];
  });
