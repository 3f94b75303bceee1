// Where a cluster has no nodes and is not told to keep workloads as objects, whoever makes one hears why it would never run.

import { forbiddenByAdmission } from "../../admission/forbidden-by-admission.ts";
import type { AdmissionPlugin } from "../../registry/admission-plugin.ts";
import { isWorkload } from "../cluster-kinds.ts";

/** Asked at every creation of a workload, so that a change counts at once. */
export const createNoNodesAdmission = (keepsWorkloads: () => boolean): AdmissionPlugin => ({
  name: "NoNodes",
  admit(attributes) {
    const { operation, subresource, resource, object } = attributes;
    if (operation !== "create" || subresource !== "" || !isWorkload(resource) || keepsWorkloads()) return object;
    throw forbiddenByAdmission(
      attributes,
      "this virtual cluster has no nodes, so that no pods run in it; with spec.template.workloads: stored it keeps them as objects",
    );
  },
});
