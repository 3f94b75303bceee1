// One ClusterRole: its rules, and who has it.

import { Link } from "@tanstack/react-router";
import { CLUSTER_ROLES, type ClusterRole, nameOf, type PolicyRule } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Badge } from "../../components/badge.tsx";
import { Notice } from "../../components/notice.tsx";
import { ObjectActions } from "../../components/object-actions.tsx";
import { ListLink, objectPage } from "../../components/object-page.tsx";
import { PageHead, Section } from "../../components/page-head.tsx";
import { t } from "../../texts/text.tsx";
import { RoleHolders } from "./role-holders.tsx";
import { aboutRole, roleName } from "./role-name.ts";

export const RolePage = objectPage<ClusterRole>(
  "role",
  () => CLUSTER_ROLES,
  (role) => <RoleView role={role} />,
);

function RoleView({ role }: { readonly role: ClusterRole }) {
  const name = nameOf(role);
  const about = aboutRole(name);
  const isAggregated = role.aggregationRule !== undefined;
  const mayCopy = useMay({ verb: "create", group: CLUSTER_ROLES.group, resource: CLUSTER_ROLES.resource });
  return (
    <>
      <PageHead
        above={<ListLink kind="role" />}
        title={roleName(name)}
        lead={<code>{name}</code>}
        actions={
          <ObjectActions
            kind="role"
            address={CLUSTER_ROLES}
            object={role}
            {...(isAggregated ? {} : { editedAt: `/roles/${name}/edit` })}
            isDeletable={about === undefined}
            consequences={[t("role.delete.rights")]}
          >
            {mayCopy.isAllowed && (
              <Link to="/new/role" search={{ from: name }} className="button plain">
                {t("role.copy")}
              </Link>
            )}
          </ObjectActions>
        }
      />
      {about !== undefined && (
        <div className="stack">
          <div>
            <Badge tone="muted">{t("role.builtIn")}</Badge>
          </div>
          <p>{about}</p>
          <p className="muted">{t("role.builtIn.hint")}</p>
        </div>
      )}
      {isAggregated && <Notice tone="info">{t("role.aggregated")}</Notice>}
      <Section title={t("role.rules.title")}>
        <Rules rules={role.rules ?? []} />
      </Section>
      <RoleHolders name={name} />
    </>
  );
}

export function Rules({ rules }: { readonly rules: readonly PolicyRule[] }) {
  if (rules.length === 0) return <p className="muted">{t("role.rules.none")}</p>;
  return (
    <ul className="lines card">
      {rules.map(({ verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two rules may be the same
        <li key={at}>
          <span className="two-lines">
            <span className="mono">{[...resources, ...nonResourceURLs].join(", ")}</span>
            <span className="muted">
              {apiGroups.length > 0 &&
                t("role.rule.groups", { groups: apiGroups.map((group) => group || "core").join(", ") })}
              {resourceNames.length > 0 && ` ${t("role.rule.names", { names: resourceNames.join(", ") })}`}
            </span>
          </span>
          <span className="mono keep">{verbs.join(", ")}</span>
        </li>
      ))}
    </ul>
  );
}
