// A refusal in plain words: whose role is missing where, and who can give it. The server's own text is in the details.

import type { Project } from "@postern/api/project";
import { Link } from "@tanstack/react-router";
import { nameOf, ownerName, PROJECTS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { recordWords } from "../../pages/audit/record-words.ts";
import { projectOf, settings } from "../../settings.ts";
import { sentence, t } from "../../texts/text.tsx";
import { AskLink, requestableAccess } from "./ask-link.tsx";
import type { RefusedRequest } from "./refused-request.ts";

export function Refusal({ refused, message }: { readonly refused: RefusedRequest; readonly message: string }) {
  const { user, verb, object, why } = refused;
  const project = projectIn(refused);
  return (
    <>
      {project === undefined ? (
        <p>
          {t("refusal.platform", { user, what: recordWords({ verb, object }) })} {t("refusal.platform.do")}
        </p>
      ) : (
        <InProject user={user} project={project} what={recordWords({ verb, object })} />
      )}
      {why !== "" && <p>{sentence(why)}</p>}
      <p className="actions">
        {requestableAccess(message) === undefined && project !== undefined ? (
          <Link to="/new/access-request" search={{ project }}>
            {t("request.new")}
          </Link>
        ) : (
          <AskLink message={message} />
        )}
        <Link to="/access" search={project === undefined ? {} : { project }}>
          {t("may.check")}
        </Link>
      </p>
      <details className="aside">
        <summary>{t("refusal.details")}</summary>
        <p className="mono">{message}</p>
      </details>
    </>
  );
}

/** Users see the projects in which they have a role. */
function InProject(props: { readonly user: string; readonly project: string; readonly what: string }) {
  const { user, project, what } = props;
  const { items } = useLive<Project>(PROJECTS);
  const seen = items.find((each) => nameOf(each) === project);
  const owner = ownerName(seen?.spec?.owner);
  return (
    <p>
      {t(seen === undefined ? "refusal.project.none" : "refusal.project.role", { user, project, what })}{" "}
      {owner === "" ? t("refusal.project.do", { user }) : t("refusal.project.ask", { user, owner })}
    </p>
  );
}

/** The project that the request is about; undefined for other namespaces, and for what belongs to the whole platform. */
function projectIn({ namespace, object }: RefusedRequest): string | undefined {
  if (namespace.startsWith(settings.projectNamespacePrefix)) return projectOf(namespace);
  const [type = "", name = ""] = object.split("/");
  return type === `projects.${settings.managementGroup}` && name !== "" ? name : undefined;
}
