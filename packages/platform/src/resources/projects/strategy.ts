// What happens to a project on its way into the store.

import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { callerAsOwner } from "../caller-as-owner.ts";
import { withFinalizer } from "../finalizers.ts";
import type { Project } from "./project.ts";

export type ProjectStrategyDeps = { readonly names: PlatformNames; readonly directory: Directory };

/** Names of namespaces are DNS labels, and no longer than this. */
const MAX_NAMESPACE_LENGTH = 63;

export const projectStrategy = (deps: ProjectStrategyDeps): Strategy<Project> => ({
  validateName: (name, isPrefix) => validateProjectName(name, isPrefix, deps.names),
  allowUnconditionalUpdate: true,
  prepareForCreate: (project, { user }) => {
    const owner = project.spec?.owner ?? callerAsOwner(user, deps);
    return withFinalizer(
      {
        ...project,
        spec: { ...project.spec, ...(owner === undefined ? {} : { owner }) },
        status: { phase: "Pending" },
      },
      projectFinalizer(deps.names),
    );
  },
});

/** Held until the namespace of the project is gone. */
export const projectFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("project");

function validateProjectName(name: string, isPrefix: boolean, names: PlatformNames): readonly string[] {
  const faults = nameIsDNSLabel(name, isPrefix);
  if (faults.length > 0) return faults;
  const room = MAX_NAMESPACE_LENGTH - names.projectNamespacePrefix.length;
  return name.length > room ? [`must be no more than ${room} characters, for the name of the project's namespace`] : [];
}
