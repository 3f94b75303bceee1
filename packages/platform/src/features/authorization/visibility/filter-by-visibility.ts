// Narrows the lists and watches of a resource to what the caller may get.

import type { PlatformNames } from "@postern/api/platform-names";
import { expiredError } from "@postern/apimachinery/meta/api-error";
import { combinedPolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ObjectVisibility, VisibleObjects } from "@postern/apiserver/registry/visibility";
import { type FilteredResource, isInProject } from "../filtered-resources.ts";
import { projectsHiddenFrom, type SourceCheckDeps } from "../project-sources.ts";
import type { Visibility } from "./visibility.ts";

const RIGHTS_CHANGED = "what you may see has changed; list again";

/** For the `visibility` of a resource definition. Gets, updates and deletions are decided by name. */
export function filterByVisibility(
  visibility: Visibility,
  resource: FilteredResource,
  deps: SourceCheckDeps,
): ObjectVisibility {
  const { sources, names } = deps;
  const policyVersion = combinedPolicyVersion([visibility.policyVersion, sources]);
  return {
    visibleTo: (context) =>
      withoutProjects(visibility.visibleTo(context, resource), resource, projectsHiddenFrom(context, deps), names),

    /** Ends with Expired when the visibility for the caller has changed, so that clients list again. */
    follow(context, end) {
      const decidedAt = policyVersion.version;
      let checkedAt = decidedAt;
      const hidden = projectsHiddenFrom(context, deps);
      const isElsewhere = (): boolean => {
        if (policyVersion.version === checkedAt) return false;
        checkedAt = policyVersion.version;
        const now = projectsHiddenFrom(context, deps);
        return now.size !== hidden.size || [...now].some((project) => !hidden.has(project));
      };
      const { visible, isOutdated } = visibility.follow(context, resource);
      let over = false;
      const holds = (): boolean => {
        if (over) return false;
        if (!isOutdated() && !isElsewhere()) return true;
        over = true;
        end(expiredError(RIGHTS_CHANGED));
        return false;
      };
      // Checked without an event as well: a client may show objects that its user may no longer see.
      context.open?.keep({ policyVersion, decidedAt, holds, onLost: () => {} });
      return {
        visible: withoutProjects(visible, resource, hidden, names),
        holds,
        [Symbol.dispose]() {
          over = true;
        },
      };
    },
  };
}

/** Without the objects of the projects. */
function withoutProjects(
  visible: VisibleObjects,
  resource: FilteredResource,
  hidden: ReadonlySet<string>,
  { projectOf }: PlatformNames,
): VisibleObjects {
  if (hidden.size === 0 || !(resource === "projects" || isInProject(resource))) return visible;
  const isHidden = ({ key }: CachedObject): boolean => {
    const [namespace = "", name = ""] = key.split("/").slice(-2);
    const project = resource === "projects" ? name : projectOf(namespace);
    return project !== undefined && hidden.has(project);
  };
  return (object) => !isHidden(object) && (visible === "all" || visible(object));
}
