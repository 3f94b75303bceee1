// The pages whose shell blocks are run, and what each of them presupposes.

import type { Page } from "./run-page.ts";

/** An etcd as the pages describe it: the certificate of its members is also the CA, and that of clients. */
const ETCD_NAMES = [
  ["etcd-0:2379", "$ETCD_0"],
  ["etcd-1:2379", "$ETCD_1"],
] as const;

const SERVE = "postern serve --data-dir data";
const HELLO = "kubectl get users admin";

export const PAGES: readonly Page[] = [
  {
    path: "docs/guides/tenants.md",
    // `npm run nightly -- fifty` takes on all fifty.
    names: [["$(seq -w 1 50)", "07 08 50"]],
    expected: [/^nothing changed$/m, /^default +Active/m, /"tenant-50" deleted/],
  },
  {
    path: "docs/guides/projects.md",
    expected: [/^yes$/m, /^Ben may only view$/m, /^Ben has no access$/m],
  },
  { path: "docs/guides/gitops.md", expected: [/^0$/m, /^[4-9]\d$/m] },
  {
    path: "docs/guides/access-keys.md",
    expected: [/^pst_\w+$/m, /^ci +user\/admin .*Ready/m, /condition met$/m],
  },
  {
    path: "docs/guides/session-recordings.md",
    given: "postern serve --data-dir data --session-recording-dir recordings",
    // Pods do not run here.
    expected: [/^\[\]$/m],
  },
  {
    path: "docs/guides/one-time-delivery.md",
    given: SERVE,
    expected: [/^default +Active/m, /WrappedValueReadAgain +ownedaccesskey\/deploy/],
  },
  {
    path: "docs/guides/aggregated-api.md",
    given: ":",
    expected: [/"name": "demo"/, /^Username +host:jane$/m, /host:devs/],
  },
  {
    path: "docs/operations/rotating-authorities.md",
    given: SERVE,
    expected: [
      /^Prepared: the new CA vc-\S+-ca-2 signs/m,
      /serial:/,
      /^Completed: vc-/m,
      /^"Prepared"$/m,
      /^2$/m,
      /^Completed: postern-ca-2 signs/m,
    ],
  },
  {
    path: "docs/guides/webhook-authentication.md",
    given: SERVE,
    afterwards: `
postern kubeconfig demo > demo.kubeconfig
TOKEN=$(kubectl --kubeconfig demo.kubeconfig config view --raw --output jsonpath='{.users[0].user.token}')
kubectl --token "$(cat webhook.key)" create --output jsonpath='{.status.user.username}{"\\n"}' --filename - <<REVIEW
{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "$TOKEN"}}
REVIEW`,
    expected: [/^admin$/m],
  },
  {
    path: "docs/guides/kubeconfig-generators.md",
    given: SERVE,
    expected: [/^dev-clusters +dev-clusters .* 2 +2 +True/m, /^default-api\ndefault-web$/m, /^default +Active/m],
  },
  {
    path: "docs/guides/cluster-inventory.md",
    given: SERVE,
    expected: [
      /^p-default +demo +True +v1\./m,
      /^https:\/\/.*\/kubernetes\/project\/default\/virtualcluster\/demo$/m,
      /^default +Active/m,
    ],
  },
  {
    path: "docs/guides/access-on-request.md",
    given: SERVE,
    expected: [
      /^access-\w+ +Pending +ann +default\/demo +edit/m,
      /is approved: access until/,
      /^default +Active/m,
      /^yes$/m,
      /is revoked: revoked by carl/,
      /^ops-1235 +Pending +ann/m,
      // Approved, and revoked.
      /(\/ops-1235 condition met\n[\s\S]*){2}/,
    ],
  },
  {
    path: "docs/guides/kubeconfigs.md",
    given: `${SERVE}\nKEY=$(postern key create laptop)`,
    inline: ["postern kubeconfig demo --exec --merge"],
    expected: [/^default +Active/m, /"kind": "VirtualClusterInstanceKubeConfig"/, /set\.$/m],
  },
  {
    path: "docs/guides/leaked-key.md",
    given: `
${SERVE}
KEY=$(postern key create ci)
as_ci() { kubectl --server https://127.0.0.1:8443 --certificate-authority data/ca.crt --token "$KEY" --kubeconfig /dev/null "$@"; }
as_ci get users`,
    inline: ["postern key compromised ci --audit-log data/audit.log --since 7d"],
    afterwards: 'refused "You must be logged in" as_ci get users',
    expected: [/"revokedCredentials":0/, /"verb":"list","object":"users\.management/],
  },
  {
    path: "docs/guides/credential-lifecycle.md",
    given: `
${SERVE}
export POSTERN_URL=https://127.0.0.1:8443 POSTERN_CA=data/ca.crt POSTERN_TOKEN=$(postern key create ci)
postern kubeconfig demo --project default > made.yaml
unset POSTERN_URL POSTERN_CA POSTERN_TOKEN
kubectl --kubeconfig made.yaml get namespaces`,
    inline: [
      "postern key get ci",
      "postern key rotate ci --grace 1h",
      "postern key explain ci --path /apis/management.postern/v1/users",
      "postern key disable ci",
      "postern key enable ci",
      "postern credentials list",
      "postern audit search data/audit.log --since 24h",
      "postern audit search --key ci --since 24h",
      "kubectl get --raw '/audit/events?key=ci&refused=true'",
    ],
    before: { "postern key get ci": `refused "You must be logged in" kubectl --kubeconfig made.yaml get namespaces` },
    expected: [/"gracePeriodSeconds":3600/, /"allowed":true/, /^Disabled: +no$/m, /^ci +admin /m],
  },
  {
    path: "docs/guides/command-line.md",
    names: [["postern.example.com:8443", "127.0.0.1:8443"]],
    given: `${SERVE}\npostern key create laptop > key.txt\ncp data/ca.crt .\nunset KUBECONFIG`,
    inline: ["kubectl --kubeconfig ~/.config/postern/platforms.yaml get oak", "postern logout"],
    afterwards: "(cd / && refused 'no platform is named' postern whoami)",
    expected: [/admin/, /^laptop /m],
  },
  {
    path: "docs/guides/connected-clusters.md",
    needs: "cluster",
    given: `
${SERVE} --proxy-allowed-addresses 127.0.0.0/8 --proxy-health-check-interval-seconds 1
postern kubeconfig demo --project default --client-cert --kubeconfig "$HOST_KUBECONFIG" > admin.conf
cp admin.conf eu-north.kubeconfig
kubectl --kubeconfig "$HOST_KUBECONFIG" patch virtualclusterinstance demo -n p-default --type merge -p '{"spec":{"template":{"workloads":"stored"}}}'
kubectl --kubeconfig "$HOST_KUBECONFIG" create -f - <<'YAML'
apiVersion: management.postern/v1
kind: VirtualClusterInstance
metadata: {name: customer, namespace: p-default}
spec: {template: {workloads: stored}}
YAML
kubectl --kubeconfig "$HOST_KUBECONFIG" wait virtualclusterinstance/customer -n p-default --for condition=Ready --timeout 60s
postern kubeconfig customer --project default --client-cert --kubeconfig "$HOST_KUBECONFIG" > customer.kubeconfig
cp -r "$REPOSITORY/examples" .
kubectl create --filename examples/team.yaml --filename examples/project.yaml
node -e 'process.stdout.write(require("fs").readFileSync("examples/virtualclusterinstance-external.yaml", "utf8").split("---\\n")[1])' > instance.yaml`,
    // The pods of the manifests do not run here.
    before: {
      "kubectl wait cluster/eu-north": `
kubectl --kubeconfig eu-north.kubeconfig config set-context --current --namespace postern-agent
postern agent --kubeconfig eu-north.kubeconfig > agent.log 2>&1 &`,
      "kubectl wait virtualclusterinstance/customer": `
kubectl --kubeconfig customer.kubeconfig config set-context --current --namespace postern-agent
postern agent --kubeconfig customer.kubeconfig > customer.log 2>&1 &`,
    },
    inline: [
      "postern cluster rotate eu-north",
      "kubectl get clusters,virtualclusterinstances,spaceinstances -A -o wide",
      "postern cluster join eu-north",
    ],
    expected: [/^eu-north +.*True/m, /^eu-west +.*Initialized/m, /^production +.*Ready/m, /customer condition met/],
  },
  {
    path: "docs/guides/sign-in.md",
    given: `${SERVE}\nkubectl create --filename "$YAML-2.yaml"\nsed "s|login.example.com|127.0.0.1:9|" "$YAML-1.yaml" > provider.yaml`,
    expected: [
      /secret\/example-login created/,
      /^example +https:.*/m,
      /clusterrolebinding.*directory created/,
      /^pst_\w+/m,
    ],
  },
  {
    path: "docs/operations/backup.md",
    needs: "etcd",
    given: `${SERVE}
mkdir safe-place && cp data/{server.key,ca.crt,ca.key,admin.kubeconfig} safe-place/
cp "$ETCD_CERTIFICATE" ca.crt`,
    names: ETCD_NAMES,
    before: {
      "postern backup --data-dir data": "stop",
      "(umask 077 && head": SERVE,
      "mkdir new-data": "stop",
      "postern restore --in store.backup --data-dir new-data --revocations keys.list --previous": `
stop
mv new-data/server.key server.key.old
rm new-data/postern.db*
(umask 077 && openssl rand -hex -out new-data/server.key 32)`,
      "postern store copy": "stop",
    },
    afterwards: HELLO,
    expected: [/^admin /m],
  },
  {
    path: "docs/operations/bootstrap.md",
    given: ":",
    names: [["/tmp/try", "try"]],
    before: {
      "postern serve --store memory": `
kubectl --kubeconfig data/bootstrap/jane.kubeconfig auth whoami --output jsonpath='{.status.userInfo.username} {.status.userInfo.groups}'`,
    },
    expected: [/^jane .*postern:admins/m],
  },
  {
    path: "docs/operations/encryption.md",
    given: `
mkdir data && (umask 077 && openssl rand -hex -out data/server.key 32)
program vault 'cat data/server.key'
program aws 'base64 data/server.key'`,
    before: { "postern store copy": "stop" },
    afterwards: `${SERVE}\n${HELLO}`,
    expected: [/^admin /m],
  },
  {
    path: "docs/operations/notices.md",
    given: "mkdir etc",
    names: [["/etc/postern", "etc"]],
    afterwards: `
openssl req -x509 -newkey ed25519 -nodes -subj /CN=hooks -keyout etc/hooks.key -out etc/hooks-ca.crt
sed 's|/etc/postern|etc|' "$YAML-1.yaml" > postern.yaml
postern serve --config postern.yaml
${HELLO}`,
    expected: [/^admin /m],
  },
  {
    path: "docs/operations/replicas.md",
    needs: "etcd with client certificates",
    given: `mkdir etc && cp "$ETCD_CERTIFICATE" etc/etcd-ca.crt && cp "$ETCD_CERTIFICATE" etc/etcd.crt && cp "$ETCD_KEY" etc/etcd.key`,
    names: [...ETCD_NAMES, ["etcd-2:2379", "$ETCD_2"], ["/etc/postern", "etc"]],
    afterwards: `kubectl --server https://127.0.0.1:8443 get users admin`,
    expected: [/^admin /m],
  },
  { path: "docs/operations/running.md", given: SERVE, expected: [/^ok +/m] },
  {
    path: "docs/operations/tracing.md",
    given: ":",
    names: [["collector:4318", "127.0.0.1:9"]],
    afterwards: HELLO,
    expected: [/^admin /m],
  },
  { path: "docs/operations/upgrading.md", expected: [/"gitVersion"/, /readyz check passed/] },
];

/** Pages with shell blocks that other tests run, or that need a machine of their own. */
export const RUN_ELSEWHERE: { readonly [path: string]: string } = {
  "README.md": "test/install/testing/tour.ts",
  "docs/guides/plain-http.md": "test/install/testing/tour.ts",
  "docs/guides/ci.md": "test/e2e/ci-examples.test.ts",
  "docs/operations/installing.md": "test/install",
};
