// Explains why a user or an access key may or may not do something: step by step for a key, by an access review for a user.

import "./access-texts.ts";
import type { ExplanationStatus, OwnedAccessKeyExplanation } from "@postern/api/owned-access-key-explanation";
import type { Project } from "@postern/api/project";
import type { User } from "@postern/api/user";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { Check, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { type Api, useApi } from "../../api/api-context.tsx";
import { ACCESS_KEYS, CLUSTER_ROLES, type ClusterRole, PROJECTS, USERS } from "../../api/resources.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { RadioField, SelectField } from "../../components/forms/fields.tsx";
import { NameField } from "../../components/forms/name-field.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { ErrorNotice } from "../../components/notice.tsx";
import { PageHead, Section } from "../../components/page-head.tsx";
import { namespaceOf, settings } from "../../settings.ts";
import { named, t } from "../../texts/text.tsx";
import { reasonWords } from "./reason-words.ts";
import { remediesFor } from "./remedies.ts";
import { PROJECT_ROLES, type WantedRequest } from "./role-permits.ts";
import { identityOf } from "./user-identity.ts";

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "use"] as const;
/** Resources of the management API; others can be typed. */
const RESOURCES = [
  "virtualclusterinstances",
  "spaceinstances",
  "ownedaccesskeys",
  "projects",
  "users",
  "teams",
  "clusters",
  "trustrules",
] as const;

/** A link may ask about others as well. */
const withGiven = (usual: readonly string[], given: string): readonly string[] =>
  usual.includes(given) ? usual : [...usual, given];

type Subject = "self" | "user" | "key";
type Question = {
  readonly subject: Subject;
  readonly who: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly project: string;
  readonly name: string;
};
type Answer = { readonly allowed: boolean; readonly reason: string } & Pick<
  ExplanationStatus,
  "request" | "steps" | "remedies" | "refusal"
>;

export function AccessPage() {
  const api = useApi();
  const given: { readonly [name: string]: string } = useSearch({ strict: false });
  const { user = "", key = "", project = "", name = "", verb = "get", subresource = "" } = given;
  const { resource = "virtualclusterinstances" } = given;
  const [question, setQuestion] = useState<Question>({
    // A link from an object's page fills in the form.
    subject: key !== "" ? "key" : user + name !== "" ? "user" : "self",
    who: key || user,
    verb,
    resource,
    subresource,
    project,
    name,
  });
  const ask = useMutation({ mutationFn: () => answerOf(api, question) });
  const change = (part: Partial<Question>): void => {
    ask.reset();
    setQuestion({ ...question, ...part });
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    ask.mutate();
  };
  const needsName = question.subject !== "self";
  return (
    <>
      <PageHead title={t("access.title")} lead={t("access.lead")} />
      <div className="beside even">
        <form className="form card" onSubmit={submit}>
          <RadioField
            label={t("access.subject")}
            value={question.subject}
            choices={[
              { id: "self", label: t("access.subject.self") },
              { id: "user", label: t("access.subject.user") },
              { id: "key", label: t("access.subject.key") },
            ]}
            onChange={(subject) => change({ subject })}
          />
          {needsName && (
            <NameField
              of={question.subject === "key" ? ACCESS_KEYS : USERS}
              label={question.subject === "key" ? t("access.keyName") : t("access.userName")}
              value={question.who}
              onChange={(who) => change({ who })}
              isRequired
            />
          )}
          <div className="columns">
            <SelectField
              label={t("access.verb")}
              value={question.verb}
              choices={withGiven(VERBS, question.verb).map((id) => ({ id, label: id }))}
              onChange={(verb) => change({ verb })}
            />
            <SelectField
              label={t("access.resource")}
              value={question.resource}
              choices={withGiven(RESOURCES, question.resource).map((id) => ({ id, label: named("resource", id) }))}
              onChange={(resource) => change({ resource })}
            />
          </div>
          <NameField
            of={PROJECTS}
            label={t("access.project")}
            value={question.project}
            onChange={(project) => change({ project })}
            description={t("access.project.hint")}
          />
          <div className="columns">
            <TextField
              label={t("access.name")}
              value={question.name}
              onChange={(name) => change({ name })}
              description={t("access.name.hint")}
            />
            <TextField
              label={t("access.subresource")}
              value={question.subresource}
              onChange={(subresource) => change({ subresource })}
              description={t("access.subresource.hint")}
            />
          </div>
          <footer>
            <Button
              kind="primary"
              type="submit"
              isPending={ask.isPending}
              isDisabled={needsName && question.who.trim() === ""}
            >
              {t("access.submit")}
            </Button>
          </footer>
        </form>
        <div aria-live="polite" className="aside-answer">
          {ask.isError && <ErrorNotice error={ask.error} />}
          {ask.data !== undefined && <AnswerView answer={ask.data} project={question.project.trim()} />}
          {ask.isIdle && <EmptyState title={t("access.answer.none")}>{t("access.answer.hint")}</EmptyState>}
        </div>
      </div>
    </>
  );
}

function AnswerView({ answer, project }: { readonly answer: Answer; readonly project: string }) {
  const { allowed, reason, request, steps = [], remedies = [] } = answer;
  return (
    <Section title={t("access.answer")}>
      <div className="card stack">
        <p>
          <Badge tone={allowed ? "good" : "bad"}>{allowed ? t("access.allowed") : t("access.refused")}</Badge> {request}
        </p>
        {reason !== "" && <p title={reason}>{reasonWords(reason)}</p>}
        {steps.length > 0 && (
          <ul className="lines">
            {steps.map(({ step = "", passed, reason: why }) => (
              <li key={step}>
                <span>
                  {passed ? (
                    <Check aria-hidden="true" className="lucide yes" />
                  ) : (
                    <X aria-hidden="true" className="lucide no" />
                  )}{" "}
                  {named("access.step", step)}
                </span>
                <span className="muted" title={why}>
                  {reasonWords(why ?? "")}
                </span>
              </li>
            ))}
          </ul>
        )}
        {remedies.length > 0 && (
          <div>
            <h3>{t("access.remedies")}</h3>
            <ul className="consequences">
              {remedies.map((remedy) => (
                <li key={remedy}>{remedy}</li>
              ))}
            </ul>
            {project !== "" && (
              <p>
                <Link to="/projects/$name" params={{ name: project }}>
                  {t("access.remedy.open", { project })}
                </Link>
              </p>
            )}
          </div>
        )}
      </div>
    </Section>
  );
}

async function answerOf(api: Pick<Api, "client">, question: Question): Promise<Answer> {
  const { subject, who, verb, resource, subresource, project, name } = question;
  const given = { subresource, name, namespace: project === "" ? "" : namespaceOf(project.trim()) };
  const resourceAttributes: JsonObject = {
    group: settings.managementGroup,
    verb,
    resource,
    ...Object.fromEntries(
      Object.entries(given)
        .map(([field, text]) => [field, text.trim()] as const)
        .filter(([, text]) => text !== ""),
    ),
  };
  if (subject === "key") return answerForKey(api, who.trim(), resourceAttributes);
  const kind = subject === "self" ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  const user = subject === "self" ? undefined : await createResourceClient<User>(api.client, USERS).get(who.trim());
  if (user?.spec?.disabled === true) return { allowed: false, reason: t("access.locked") };
  const identity: JsonObject = user === undefined ? {} : identityOf(user);
  const { status } = (await api.client.request({
    method: "POST",
    path: `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    body: { apiVersion: "authorization.k8s.io/v1", kind, spec: { ...identity, resourceAttributes } },
  })) as { readonly status: { readonly allowed: boolean; readonly reason?: string } };
  const wanted = {
    verb,
    group: settings.managementGroup,
    resource,
    subresource: subresource.trim(),
    name: name.trim(),
  };
  const remedies = status.allowed || user === undefined ? [] : await findRemedies(api, user, project.trim(), wanted);
  return { allowed: status.allowed, reason: status.reason ?? "", remedies };
}

/** Users get permissions from projects and role bindings. The roles are those that the asking user may read. */
async function findRemedies({ client }: Pick<Api, "client">, user: User, project: string, wanted: WantedRequest) {
  const readable = async <T extends KubeObject>(read: Promise<T>): Promise<T | undefined> =>
    await read.catch((error: unknown) => {
      if (isApiError(error, "Forbidden") || isApiError(error, "NotFound")) return undefined;
      throw error;
    });
  const given =
    project === "" ? undefined : await readable(createResourceClient<Project>(client, PROJECTS).get(project));
  const roles = createResourceClient<ClusterRole>(client, CLUSTER_ROLES);
  const known = await Promise.all(PROJECT_ROLES.map((name) => readable(roles.get(name))));
  return remediesFor(user, project, wanted, {
    members: given?.spec?.members ?? [],
    roles: known.filter((role) => role !== undefined),
  });
}

async function answerForKey({ client }: Pick<Api, "client">, name: string, resourceAttributes: JsonObject) {
  const keys = createResourceClient(client, ACCESS_KEYS);
  // The kind has this shape: see its schema in the API.
  const body = { kind: "OwnedAccessKeyExplanation", spec: { resourceAttributes } };
  const { status = {} } = (await keys.createSubresource(name, "explain", body)) as OwnedAccessKeyExplanation;
  return { ...status, allowed: status.allowed === true, reason: status.refusal ?? "" };
}
