// Narrows the lists and watches of a resource to what the caller may get.

import { expiredError } from "@postern/apimachinery/meta/api-error";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import type { FilteredResource } from "./filtered-resources.ts";
import type { Visibility } from "./visibility.ts";

const RIGHTS_CHANGED = "what you may see has changed; list again";

/** For the `visibility` of a resource definition. Gets, updates and deletions are decided by name. */
export const filterByVisibility = (visibility: Visibility, resource: FilteredResource): ObjectVisibility => ({
  visibleTo: (context) => visibility.visibleTo(context, resource),

  /** Ends with Expired when the visibility for the caller has changed, so that clients list again. */
  follow(context, end) {
    const { policyVersion } = visibility;
    const decidedAt = policyVersion.version;
    const { visible, isOutdated } = visibility.follow(context, resource);
    let over = false;
    const holds = (): boolean => {
      if (over) return false;
      if (!isOutdated()) return true;
      over = true;
      end(expiredError(RIGHTS_CHANGED));
      return false;
    };
    // Checked without an event as well: a client may show objects that its user may no longer see.
    context.open?.keep({ policyVersion, decidedAt, holds, onLost: () => {} });
    return {
      visible,
      holds,
      [Symbol.dispose]() {
        over = true;
      },
    };
  },
});
