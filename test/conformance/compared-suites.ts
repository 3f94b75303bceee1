// Runs of other suites beside a kube-apiserver 1.36.2, and what stays different: the part of the page that no case of this repository makes.

type Row = readonly [string, string];

const RUNS: readonly (readonly [string, string, string])[] = [
  [
    "random requests of 59 kinds and 4 reviews, one seed, 2,000 a side, among them lists, watches and deletions: status, content type, warnings and body; the control on etcd 3.6 with the controllers that run here",
    "1,901 of 2,000 the same (seed 41); the others are below",
    "1,858 of 1,982 of 21 kinds, without lists and watches",
  ],
  [
    "CEL expressions made of every function and overload of 1.36 with values at their limits, values of wrong types, and in each other (seeds 11, 12, 13): " +
      "text of the refusal, type, highest cost, value, text of the fault, in the environment that kube-apiserver has for new expressions",
    "7,934 of 8,248 alike, 1,960 of them recorded as a test; classes of the others are below",
    "1,694 of 1,968 (seed 1)",
  ],
  [
    "expressions in rules of custom resources, ValidatingAdmissionPolicies, MutatingAdmissionPolicies and webhooks, as dry runs (seeds 5, 77): status, text, causes and object",
    "463 of 500; below, and the status of a definition in a dry run",
    "not run",
  ],
  [
    "columns of Tables of the 56 kinds that both serve: names, types, formats, priorities, descriptions, order",
    "56 the same",
    "1",
  ],
  [
    "specs of Kubernetes' e2e suite on the management API with `--custom-resources`",
    "57 of the 57 that fit; a proxy answered for the Service `kubernetes`, which the suite asks for before each spec",
    "53 of 53; 23 of 34, whose names were not kept",
  ],
  [
    "123 sequences of kubectl 1.36.2, 1,704 commands, on both: output, errors and exit code; the control has a volume source and a ConfigMap of OpenShift",
    "1,600 commands alike, 63 sequences throughout; the others are below",
    "3,414 of 3,632, of another list of 265 sequences",
  ],
  [
    "the unmodified vcluster command",
    "38 commands, run against a real server; its requests are replayed by the cases of its page",
    "25 commands",
  ],
];

const DIFFERENT_ANSWERS: readonly Row[] = [
  [
    "`continue` of a page that was not given out",
    "tokens are signed here: 400; upstream takes any text of the right form, and says first that a version does not go with it",
  ],
  [
    "watches from version 1",
    "upstream has begun later, and answers 410; here the history from the first write on is still there",
  ],
  [
    '`items: null` and `rows: null` of lists without objects as metadata or Tables; `continue: ""` of custom resources',
    "empty slices and texts of Go; here the list is empty, and the member absent",
  ],
  [
    "Tables of bookmarks, and of `pods/ephemeralcontainers`",
    "cells are null here, and zero values upstream, which has no Table for the other",
  ],
  ["rows of IPAddresses", "upstream has a third cell for which there is no column"],
  [
    "`deprecated.daemonset.template.generation` of DaemonSets as metadata",
    "upstream adds the annotation to whole objects alone; here it is in every form",
  ],
  [
    "`data` of a Secret as a list of numbers",
    "Go takes it for bytes; here it is a fault, as the published schema says",
  ],
  [
    "`rules: []` of an Ingress without a backend",
    "an empty list is not kept when a body is read: the text says null, as without rules",
  ],
  ["webhooks whose Service has neither name nor namespace", "both name the two; upstream the name first"],
  [
    "DELETE of `scale`",
    "405 with the text of a resource; upstream has no route there, and its text is that of a method",
  ],
  [
    "reviews as `PartialObjectMetadata`",
    "refused with 406: a review that is not stored has no metadata; upstream gives back an empty one",
  ],
  [
    "404, 405, 406 and 415 of requests with another fault",
    "upstream looks at the options, the form or the method first, differently for each path; here the order is the same for all",
  ],
  [
    "paths with an empty segment",
    "400: two readers of such a path may understand it differently; upstream skips the segment",
  ],
  [
    "a deletion with a body of another kind of its own",
    "the text names the kind that is not known; upstream knows it, and cannot convert it",
  ],
  [
    "a DELETE of a pod without a node",
    "the answer is the same; upstream sends its watchers MODIFIED, with the time of the deletion, before DELETED",
  ],
  [
    "finalizer, deletion and `status` of VolumeAttributesClasses, and conditions of FlowSchemas",
    "the controllers that write and remove them have nothing to look at",
  ],
  [
    "a deletion of definitions, and their status before it is written",
    "upstream counts no generation and sets no grace period; conditions that are not written yet are null there",
  ],
  [
    "generation of CSIDrivers, and of EndpointSlices that are written as they are",
    "not counted: no client waits for it",
  ],
  [
    "`configSource` of Nodes, and a gap in `fieldSelector` of reviews",
    "upstream drops the field, and adds an `evaluationError` to the answer",
  ],
  [
    "names of Go's types in texts about values of a wrong type",
    "named types of texts are `string` here, bytes are base64 alone",
  ],
  [
    "texts with an object or a whole patched object",
    "upstream prints internal Go structs, or the members in the order of its types; here it is JSON, and the difference of two specs is left out",
  ],
  [
    "`$setElementOrder` and `$patch` of a wrong form with another fault",
    "upstream stops with 500 at the first that it meets; here the types are checked first, and a directive for a field that there is not is ignored",
  ],
  [
    "numbers beyond 32 bits, and a wrong `generation`, in an apply",
    "refused; upstream drops them with the status, or cuts them off",
  ],
  [
    "a resource version that is no number",
    "refused by upstream with 500 or 400, by kind; here always 500, and not looked at when a PUT creates",
  ],
  [
    "a merge patch to another `kind`",
    "upstream repeats the whole patched object in its text; here the text names the field alone",
  ],
  [
    "the number of causes of one fault in `metadata`",
    "upstream checks the metadata of some kinds twice; text, fields and reasons are the same",
  ],
  [
    "finalizers, labels and prefixes of names of some kinds",
    "upstream does not check the metadata of PodDisruptionBudgets, Leases and bindings of policies on create, finalizers of RuntimeClasses alone, and prefixes not on update; here metadata are checked for every kind",
  ],
  [
    "the order of faults, of undeclared fields and of schema errors",
    "upstream takes them from Go maps, or checks the parts of an object in another order",
  ],
  [
    "several faults in one body",
    "upstream stops at the first in the order of the bytes, or of a Go map; here metadata come first, and an apply names all undeclared fields",
  ],
  ["`PUT` to the status of an absent Service", "upstream makes the Service; here it is 404"],
  [
    "field managers of statuses that controllers write",
    "controllers of embedded clusters record no owner for the status of PodDisruptionBudgets and of workloads",
  ],
  [
    "keys and versions in texts",
    "they name the store, its keys and the revision, which are those of another store here",
  ],
  ["texts with the path of a Go file", "they name the machine that upstream was built on"],
  [
    "names of pods, tokens and EndpointSlices",
    "they are random; the control of these runs adds a volume source of OpenShift",
  ],
  ["`lastTransitionTime: null`", "Go writes a time that was never set, and gives it an owner; here it is absent"],
];

const DIFFERENT_COMMANDS: readonly Row[] = [
  [
    "`explain` (18 of 53 more commands)",
    "members and descriptions are the same ([ADR 303](../adr/0303-descriptions-of-built-in-types-are-whole.md)); `-required-`, lines with `enum`, and names of types that are written in place are missing",
  ],
  [
    "`get -o json --show-managed-fields`, statuses",
    "controllers record no owner for the status that they write; times that were never set are absent, and null upstream",
  ],
  [
    "`--as`, `auth whoami`",
    "a kubeconfig of a virtual cluster has a scoped key, which impersonates nobody; without a scope, the other user has to be allowed to use the virtual cluster. Groups are those of this server",
  ],
  [
    "texts with an object",
    "upstream prints its internal Go struct; here it is the object as JSON, and the difference of two specs of pods is left out",
  ],
  [
    "`logs`, `exec`, `attach`, `cp` of a pod without a node",
    "upstream: an empty log, `does not have a host assigned`; here the text says that pods run nowhere",
  ],
  [
    "status of Nodes",
    "mended since ([ADR 318](../adr/0318-nodes-are-marked-without-a-kubelet.md), [385](../adr/0385-taints-evict-pods-of-controlled-clusters.md)); not run again",
  ],
  [
    "Endpoints of a pod without a node",
    "upstream leaves it out until its node is known; here a client that writes an address wants to be found",
  ],
  [
    "PersistentVolumes and claims",
    "a claim is bound at once, and at the next synchronization upstream; a repeated Event is another Event, and a count upstream",
  ],
  [
    "tokens and certificates",
    "ES256 instead of RS256; tokens are bound to Secrets alone; the lineage of credentials is an annotation; the warning about a token that ends",
  ],
  ["conditions of a PodDisruptionBudget that a client writes", "not checked, since its controller writes them anew"],
  [
    "definitions with two faults, and a group that changes",
    "upstream goes on after a wrong type, does not compare the name with a changed group, names `spec.validation` where all versions have one schema, and repeats what follows from a missing list of versions",
  ],
  ["`get apiservices` (2)", "clients write them; upstream makes one for each version that it serves itself"],
  [
    "`get servicecidrs`, `get componentstatuses`, `get --raw /api`, counts of ConfigMaps",
    "the control has another Service range, another address, a controller manager without a port, and a ConfigMap of its own in each namespace",
  ],
  [
    "`apply --server-side` of a Role with `rules: []`, of a CSINode with `drivers: []`; parameters of a device that are `[]`",
    "an empty list is not kept when a body is read, so that it has no owner, no conflict, and no other fault than one that is absent",
  ],
  [
    "events of a PodDisruptionBudget without pods; conditions of a FlowSchema",
    "no controller writes them: nothing waits for either",
  ],
  ["the name of a pod in the condition of its ReplicaSet", "the name that was made for it, and its prefix upstream"],
  [
    "`describe clusterrole view`",
    "the annotation `rbac.authorization.kubernetes.io/autoupdate` is not written; rules have another order",
  ],
  ["lists of resources, `get --raw`", "members of JSON have another order"],
];

const DIFFERENT_EXPRESSIONS: readonly Row[] = [
  ["`self.o.namespace`", "the name is reserved in CEL, and is written `__namespace__`; upstream takes both"],
  ["`quantity('1').sign()`", "documented as a method; 1.36.2 declares a function by mistake"],
  ["`jsonpatch.escapeKey`", "known in every expression here, upstream in MutatingAdmissionPolicies alone"],
  [
    "`namespaceObject` in match conditions",
    "upstream knows the name, and has no namespace when it evaluates them; here the name is unknown",
  ],
  [
    "texts of expressions that do not parse",
    "the parser of upstream goes on after the first fault, and names what it expected; here the first fault is named",
  ],
  [
    "texts of refused rules",
    "upstream names `spec.validation`, which apiextensions.k8s.io/v1 does not have, its internal rule as an object, and types with random numbers",
  ],
  [
    "`!error!` in a text, and the same fault twice",
    "upstream goes on with what has a fault, and checks the operand of `optMap` twice, since it copies it",
  ],
  [
    "`internal error: interface conversion …`",
    "functions of lists fail this way upstream where their operand has failed; here the first fault is named",
  ],
  [
    "`{timestamp(0): 1}`, `[[1]][?dyn(0)].or(dyn(true))`, `null[?0]`",
    "refused when they are evaluated; upstream keeps values of any type as keys, and gives back what is no optional value",
  ],
  [
    "texts of faulty addresses, networks and versions",
    "upstream has those of Go's parsers, which say where they stopped",
  ],
  ["`[1.0, double('NaN')].min()`", "NaN has no order; upstream takes the last of those that it cannot compare"],
  [
    "what an expression costs when it is evaluated",
    "more than upstream where it takes longer: comparing whole lists and maps, making lists. `lists.range` is paid before it is made",
  ],
];

const cell = (text: string): string => text.replaceAll("|", "\\|");
const table = (head: string, rows: readonly Row[]): readonly string[] => [
  head,
  "|---|---|",
  ...rows.map(([what, why]) => `| ${cell(what)} | ${cell(why)} |`),
];

/** Lines of Markdown. */
export const COMPARED_SUITES: readonly string[] = [
  "## Beside a kube-apiserver 1.36.2",
  "",
  "Runs of 2026-11-29 on a busy machine, by hand: the programs are not part of the repository. [Kubernetes' own e2e suite](kubernetes-e2e.md) and",
  "[kubectl's own suite](kubernetes-kubectl.md) have pages of their own, as has [the vcluster command](vcluster-command.md).",
  "",
  "| Comparison | Result | Before |",
  "|---|---|---|",
  ...RUNS.map(([what, result, before]) => `| ${cell(what)} | ${cell(result)} | ${cell(before)} |`),
  "",
  "### Random requests that are answered otherwise",
  "",
  ...table("| Answer | Why |", DIFFERENT_ANSWERS),
  "",
  "### Commands that are answered otherwise",
  "",
  ...table("| Command | Why |", DIFFERENT_COMMANDS),
  "",
  "### Specs on the management API",
  "",
  "Custom resources (definitions, watch, published OpenAPI, rules, ratcheting, field validation, discovery, server-side apply), Namespaces, Leases, Events,",
  "reviews, timeouts of requests and the version: 57 specs, whose names are in `test/conformance/testdata/kubernetes-e2e.tsv`. Of the choice, these do not fit:",
  "two each of `AggregatedDiscovery` and `Discovery` ask for groups such as `apps` and `admissionregistration.k8s.io`, two of `FieldValidation` make Deployments,",
  "`CustomResourceFieldSelectors` needs a webhook in a pod, `client-go should negotiate` (4) ConfigMaps, and `SubjectReview` ServiceAccounts.",
  "",
  "### Expressions that are taken otherwise",
  "",
  ...table("| Expression | Why |", DIFFERENT_EXPRESSIONS),
  "",
  "### Not served",
  "",
  ...table("| What | Why |", [
    [
      "the effect of FlowSchemas",
      "requests are shared out by [fair shares](limits-of-this-release.md) of the whole server; rules of one tenant must not rank above those of another",
    ],
    ["AppArmor annotations of a pod as fields", "no node reads them; templates have the warning"],
  ]),
];
