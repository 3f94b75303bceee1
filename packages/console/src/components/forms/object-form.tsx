// The form of an object, with the equivalent manifest and command beside it. Errors of the server are shown at
// the fields that they are about.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  createResourceClient,
  type ResourceAddress,
  type ResourceClient,
  type WriteOptions,
} from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { stringify } from "yaml";
import { useApi } from "../../api/api-context.tsx";
import { nameOf } from "../../api/resources.ts";
import { mergePatchOf } from "../../api/spec-changes.ts";
import { useMay } from "../../api/use-may.ts";
import { quoted } from "../../format/shell.ts";
import { type TextId, t } from "../../texts/text.tsx";
import { Button } from "../button.tsx";
import { Code, DownloadButton } from "../copy-text.tsx";
import { ErrorNotice, Notice } from "../notice.tsx";
import { LISTS, ListLink, ObjectPage, type PageKind, titleIn } from "../object-page.tsx";
import { PageHead } from "../page-head.tsx";
import { MayNot } from "../refusals/why-not.tsx";
import { type ErrorAt, placeErrors } from "./place-errors.ts";

export type FieldsProps<Draft> = {
  readonly draft: Draft;
  readonly isNew: boolean;
  readonly errorAt: ErrorAt;
  readonly onChange: (changes: Partial<Draft>) => void;
  /** Value, change and error of a member, for its field. `path`: as the server names the member in errors. */
  readonly field: <Name extends keyof Draft>(name: Name, path: string) => Field<Draft[Name]>;
};

type Field<Value> = {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly error: string | undefined;
};

/** The parts that are specific to the form of a kind. A draft holds the values of the fields, mostly strings. */
export type FormDefinition<Draft extends { readonly name: string }, T extends KubeObject> = {
  readonly page: PageKind;
  readonly kindOf: (draft: Draft) => string;
  readonly empty: Draft;
  readonly draftOf: (object: T) => Draft;
  /** The members that the form sets beside metadata, such as `spec`, without empty values. The form leaves other members unchanged. */
  readonly contentOf: (draft: Draft) => JsonObject;
  readonly addressOf: (draft: Draft) => ResourceAddress;
  /** The address of the object's page. */
  readonly viewOf: (draft: Draft) => string;
  /** The path of a choice that has to be made before the form is sent, and the words for that. */
  readonly missingOf?: (draft: Draft) => Missing | undefined;
  /** The button for a new object. Default: Create. */
  readonly submit?: TextId;
  /** Field paths as the server names them. Names and description are added. */
  readonly paths: readonly string[];
  readonly fieldsOf: (props: FieldsProps<Draft>) => ReactNode;
};

export type Missing = { readonly path: string; readonly text: string };

type ObjectFormProps<Draft extends { readonly name: string }, T extends KubeObject> = {
  readonly form: FormDefinition<Draft, T>;
  /** Absent for a new object. */
  readonly object?: T;
  /** After a conflict: starts the form again with the current object. */
  readonly onReload?: () => void;
};

function ObjectForm<Draft extends { readonly name: string }, T extends KubeObject>(props: ObjectFormProps<Draft, T>) {
  const { form: definition, object, onReload } = props;
  const { kindOf, empty, draftOf, contentOf, addressOf, viewOf, fieldsOf, page, paths, missingOf } = definition;
  const api = useApi();
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>(() => (object === undefined ? empty : draftOf(object)));
  const isNew = object === undefined;
  const [tried, setTried] = useState(0);
  const { name } = draft;
  const missing = missingOf?.(draft);
  const address = addressOf(draft);
  const { group, resource, namespace } = address;
  const right = useMay({
    group,
    verb: isNew ? "create" : "update",
    resource,
    ...(namespace === undefined ? {} : { namespace }),
    ...(isNew ? {} : { name }),
  });
  const texts = textsOf({
    address,
    kind: kindOf(draft),
    name,
    isPlaced: missing === undefined,
    content: contentOf(draft),
    before: object === undefined ? undefined : contentOf(draftOf(object)),
  });
  const open = (saved: string): void => void navigate({ to: viewOf({ ...draft, name: saved }) });
  const save = useMutation({
    async mutationFn() {
      api.warnings.take();
      const objects = createResourceClient<T>(api.client, address);
      const options = { fieldValidation: "Strict", fieldManager: "console" } as const;
      const saved = isNew
        ? await objects.create(texts.manifest, options)
        : await patchShown(objects, object, texts.patch, (current) => contentOf(draftOf(current)), options);
      return { name: nameOf(saved), warnings: api.warnings.take() };
    },
    onSuccess({ name: saved, warnings }) {
      if (warnings.length === 0) open(saved);
    },
  });
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (save.isError || tried > 0)
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid] button, [data-error]')?.focus();
  }, [save.isError, tried]);

  const errors = placeErrors(save.error, [...(isNew ? ["metadata.name"] : []), ...NAME_PATHS, ...paths]);
  const errorAt: ErrorAt = (path) => (tried > 0 && missing?.path === path ? missing.text : errors.at(path));
  const content = fieldsOf({
    draft,
    isNew,
    errorAt,
    onChange: (changes) => setDraft((before) => ({ ...before, ...changes })),
    field: (name, path) => ({
      value: draft[name],
      onChange: (value) => setDraft((before) => ({ ...before, [name]: value })),
      error: errorAt(path),
    }),
  });
  const isConflict = isApiError(save.error, "Conflict") && onReload !== undefined;
  if (save.data !== undefined && save.data.warnings.length > 0)
    return (
      <div className="stack">
        {save.data.warnings.map((text) => (
          <Notice key={text} tone="warn">
            {text}
          </Notice>
        ))}
        <div>
          <Button kind="primary" onPress={() => open(save.data.name)}>
            {t("form.continue", { name: save.data.name })}
          </Button>
        </div>
      </div>
    );
  return (
    <form
      ref={form}
      className="beside"
      onSubmit={(event) => {
        event.preventDefault();
        if (missing === undefined) save.mutate();
        else setTried(tried + 1);
      }}
    >
      <div className="form">
        <p className="hint">{t("form.optional")}</p>
        {content}
        {save.isError && errors.arePlaced && (
          <Notice tone="bad">
            <span role="alert">{t("form.errors")}</span>
          </Notice>
        )}
        {save.isError && !errors.arePlaced && !isConflict && <ErrorNotice error={save.error} />}
        {isConflict && (
          <div className="notice bad" role="alert">
            <p>{t("form.conflict")}</p>
            <Button onPress={onReload}>{t("form.reload")}</Button>
          </div>
        )}
        {missing === undefined && <MayNot right={right} />}
        <div className="actions">
          <Button
            kind="primary"
            type="submit"
            isPending={save.isPending}
            isDisabled={missing === undefined && (!right.isAllowed || (!isNew && texts.isUnchanged))}
          >
            {isNew ? t(definition.submit ?? "form.create") : t("form.save")}
          </Button>
          <Link to={isNew ? LISTS[page].to : viewOf(draft)} className="button quiet">
            {t("action.cancel")}
          </Link>
        </div>
      </div>
      <aside className="aside-panel">
        <Code
          label={isNew ? t("form.manifest") : t("form.manifest.after")}
          text={texts.yaml}
          actions={<DownloadButton text={texts.yaml} fileName={texts.fileName} />}
        />
        {texts.isUnchanged ? (
          <p className="hint">{t("form.unchanged")}</p>
        ) : (
          <Code label={t("form.command")} text={texts.command} />
        )}
      </aside>
    </form>
  );
}

type Texts = {
  readonly manifest: JsonObject;
  readonly patch: JsonObject;
  readonly yaml: string;
  readonly fileName: string;
  readonly command: string;
  readonly isUnchanged: boolean;
};

/** `before`: the current content of the object that is edited. */
function textsOf(given: {
  readonly address: ResourceAddress;
  readonly kind: string;
  readonly name: string;
  /** False while the project is not chosen. */
  readonly isPlaced: boolean;
  readonly content: JsonObject;
  readonly before: JsonObject | undefined;
}): Texts {
  const { address, kind, name, isPlaced, content, before } = given;
  const { group, version, resource, namespace } = address;
  const place = namespace === undefined || !isPlaced ? {} : { namespace };
  const manifest = { apiVersion: formatApiVersion({ group, version }), kind, metadata: { name, ...place }, ...content };
  const patch = before === undefined ? content : mergePatchOf(before, content);
  const where = namespace === undefined ? [] : ["--namespace", namespace];
  const fileName = `${name || kind.toLowerCase()}.yaml`;
  const words =
    before === undefined
      ? ["kubectl", "create", "--filename", fileName]
      : [
          "kubectl",
          "patch",
          `${resource}.${group}`,
          name,
          ...where,
          "--type",
          "merge",
          "--patch",
          JSON.stringify(patch),
        ];
  return {
    manifest,
    patch,
    yaml: stringify(manifest),
    fileName,
    command: words.map(quoted).join(" "),
    isUnchanged: before !== undefined && Object.keys(patch).length === 0,
  };
}

/** Status and members of a project, for example, change meanwhile: so often the patch is sent again. */
const TRIES = 5;

/**
 * Rejects with a conflict if what the form shows was changed since the form was opened. Changes of the rest, such as the status, are kept.
 * `contentOf`: what the form shows of an object.
 */
async function patchShown<T extends KubeObject>(
  objects: ResourceClient<T>,
  opened: T,
  patch: JsonObject,
  contentOf: (object: T) => JsonObject,
  options: WriteOptions,
): Promise<T> {
  const shown = JSON.stringify(contentOf(opened));
  const name = nameOf(opened);
  let { metadata } = opened;
  for (let sent = 1; ; sent++) {
    const { resourceVersion = null } = metadata;
    try {
      return await objects.patch(name, { type: "merge", patch: { ...patch, metadata: { resourceVersion } } }, options);
    } catch (error) {
      if (!isApiError(error, "Conflict") || sent === TRIES) throw error;
      const current = await objects.get(name);
      if (current.metadata.uid !== metadata.uid || JSON.stringify(contentOf(current)) !== shown) throw error;
      metadata = current.metadata;
    }
  }
}

const NAME_PATHS = ["spec.displayName", "spec.description"];

export function NewObject<Draft extends { readonly name: string }, T extends KubeObject>(props: {
  readonly form: FormDefinition<Draft, T>;
  readonly title: string;
  readonly lead?: string;
}) {
  const { form, title, lead } = props;
  return (
    <>
      <PageHead above={<ListLink kind={form.page} />} title={title} lead={lead} />
      <ObjectForm form={form} />
    </>
  );
}

/** The pages for creating and editing a kind whose objects belong to no project. */
export function formPages<Draft extends { readonly name: string }, T extends KubeObject>(
  given: Omit<FormDefinition<Draft, T>, "kindOf" | "addressOf" | "viewOf"> & {
    readonly kind: string;
    readonly address: ResourceAddress;
    /** Default: the object's name below the address of the list. */
    readonly viewOf?: (draft: Draft) => string;
    readonly title: TextId;
    readonly lead?: TextId;
  },
) {
  const { kind, address, title, lead, ...definition } = given;
  const form: FormDefinition<Draft, T> = {
    viewOf: ({ name }) => `${LISTS[definition.page].to}/${name}`,
    ...definition,
    kindOf: () => kind,
    addressOf: () => address,
  };
  return {
    /** `copied`: the form begins with its fields, but for the name. */
    // biome-ignore lint/correctness/noComponentHookFactories: it is called once for each form, outside of components
    New: ({ copied }: { readonly copied?: T }) => (
      <NewObject
        form={copied === undefined ? form : { ...form, empty: { ...form.draftOf(copied), name: "" } }}
        title={t(title)}
        {...(lead === undefined ? {} : { lead: t(lead) })}
      />
    ),
    Edit() {
      const { name = "" } = useParams({ strict: false });
      return <EditObject form={form} address={address} name={name} />;
    },
  };
}

/** `address` and `name` of the object. The form keeps the object that it was opened with, even if others change it. */
export function EditObject<Draft extends { readonly name: string }, T extends KubeObject>(props: {
  readonly form: FormDefinition<Draft, T>;
  readonly address: ResourceAddress;
  readonly name: string;
}) {
  const { form, address, name } = props;
  return (
    <ObjectPage<T> kind={form.page} address={address} name={name}>
      {(object) => (
        <>
          <PageHead above={<ListLink kind={form.page} />} title={t("form.edit", { name: titleIn(address, name) })} />
          <Opened form={form} object={object} />
        </>
      )}
    </ObjectPage>
  );
}

function Opened<Draft extends { readonly name: string }, T extends KubeObject>(props: {
  readonly form: FormDefinition<Draft, T>;
  readonly object: T;
}) {
  const { form, object } = props;
  const [opened, setOpened] = useState(object);
  return (
    <ObjectForm key={opened.metadata.resourceVersion} form={form} object={opened} onReload={() => setOpened(object)} />
  );
}
