// For users without the administrator's rights: what they can do, what they asked for, and how to ask for more.

import type { AccessRequest } from "@postern/api/access-request";
import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Link } from "@tanstack/react-router";
import { memberRoles } from "../../api/project-roles.ts";
import { ACCESS_REQUESTS, nameOf, PROJECTS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useSelf } from "../../api/use-self.ts";
import { Badge } from "../../components/badge.tsx";
import { Section } from "../../components/page-head.tsx";
import { projectOf } from "../../settings.ts";
import { counted, t } from "../../texts/text.tsx";
import { roleName } from "../access/role-name.ts";
import { nameWithTitle } from "../projects/project-title.ts";
import { requestTitle } from "../requests/request-state.ts";

const SHOWN = 8;

export function MemberHome({ clusters }: { readonly clusters: readonly VirtualClusterInstance[] }) {
  const projects = useLive<Project>(PROJECTS);
  const requests = useLive<AccessRequest>(ACCESS_REQUESTS);
  const self = useSelf();
  const user = self.data?.user?.name ?? "";
  const rolesOf = memberRoles(self.data ?? {});
  const rolesIn = (project: Project): string => rolesOf(project).map(roleName).join(", ") || t("home.can.owner");
  const open = requests.items.filter(
    ({ status }) => status?.requester?.user === user && ["Pending", "Approved"].includes(status?.phase ?? ""),
  );
  const clustersOf = (project: string): number =>
    clusters.filter(({ metadata }) => projectOf(metadata.namespace ?? "") === project).length;
  return (
    <Section
      title={t("home.can")}
      lead={t("home.can.lead")}
      actions={
        <Link to="/new/access-request" className="button plain">
          {t("request.new")}
        </Link>
      }
    >
      {projects.items.length === 0 && !projects.isLoading && <p className="muted">{t("home.can.nothing")}</p>}
      <ul className="lines card">
        {projects.items.slice(0, SHOWN).map((project) => (
          <li key={project.metadata.uid}>
            <span className="two-lines">
              <Link to="/projects/$name" params={{ name: nameOf(project) }}>
                {nameWithTitle(project)}
              </Link>
              <span className="muted">{rolesIn(project)}</span>
            </span>
            <Link to="/clusters" search={{ q: nameOf(project) }}>
              {counted("clusters.count", clustersOf(nameOf(project)))}
            </Link>
          </li>
        ))}
        {open.map((request) => (
          <li key={request.metadata.uid}>
            <span className="two-lines">
              <Link to="/access-requests/$name" params={{ name: nameOf(request) }}>
                {requestTitle(request)}
              </Link>
              <span className="muted">{request.spec.reason}</span>
            </span>
            <Badge tone={request.status?.phase === "Approved" ? "good" : "info"}>
              {t(request.status?.phase === "Approved" ? "request.phase.Approved" : "request.phase.Pending")}
            </Badge>
          </li>
        ))}
      </ul>
      {projects.items.length > SHOWN && (
        <Link to="/projects">{counted("overview.more", projects.items.length - SHOWN)}</Link>
      )}
    </Section>
  );
}
