// The field for the role of a member of a project.

import { CLUSTER_ROLES, type ClusterRole, nameOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { SelectField } from "../../components/forms/fields.tsx";
import { inNaturalOrder } from "../../format/natural-order.ts";
import { t } from "../../texts/text.tsx";
import { aboutRole, builtInRole, isBuiltInRole, roleName } from "../access/role-name.ts";

const OWN = ["project-user", "project-reader", "project-viewer", "project-admin"].map(builtInRole);

/** The role that a new member has unless another is chosen. */
export const [USUAL_ROLE = ""] = OWN;

export function ProjectRoleField(props: { readonly value: string; readonly onChange: (role: string) => void }) {
  const { value, onChange } = props;
  const roles = useRoles();
  return (
    <SelectField
      label={t("field.role")}
      value={value}
      choices={roles.map((id) => {
        const about = aboutRole(id);
        return { id, label: roleName(id), ...(about === undefined ? {} : { description: about }) };
      })}
      onChange={onChange}
      description={t("member.role.hint")}
    />
  );
}

/** ClusterRoles for projects, without the built-in ones of the whole platform; only the built-in ones if the user may not list ClusterRoles. */
function useRoles(): readonly string[] {
  const right = useMay({ verb: "list", group: "rbac.authorization.k8s.io", resource: "clusterroles" });
  const { items } = useLive<ClusterRole>(CLUSTER_ROLES, { isWanted: right.isAllowed });
  const others = items.map(nameOf).filter((name) => !isBuiltInRole(name) && !name.startsWith("system:"));
  return [...OWN, ...others.sort(inNaturalOrder)];
}
