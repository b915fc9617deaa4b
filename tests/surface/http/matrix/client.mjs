// The JavaScript client (@kubernetes/client-node): a request a line on standard input, an answer a line on output.
// Arguments: the folder that has node_modules, the kubeconfig.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import net from 'node:net';
import path from 'node:path';

const [folder, kubeconfig] = process.argv.slice(2);
const require = createRequire(path.join(folder, 'package.json'));
const k8s = require('@kubernetes/client-node');
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const core = config.makeApiClient(k8s.CoreV1Api);
const PATCHES = {
  strategic: k8s.PatchStrategy.StrategicMergePatch,
  merge: k8s.PatchStrategy.MergePatch,
  json: k8s.PatchStrategy.JsonPatch,
  apply: k8s.PatchStrategy.ServerSideApply,
};

const named = (kind, name, namespace) => {
  const at = kind.lastIndexOf('/');
  const metadata = namespace ? { name, namespace } : { name };
  return { apiVersion: kind.slice(0, at), kind: kind.slice(at + 1), metadata };
};
const within = (body, namespace) =>
  namespace ? { ...body, metadata: { namespace, ...body.metadata } } : body;
const plain = (found) => JSON.parse(JSON.stringify(found));
const collected = (stream) => {
  const parts = [];
  stream.on('data', (part) => parts.push(part));
  return () => Buffer.concat(parts).toString();
};

const CALLS = {
  version: () => require('@kubernetes/client-node/package.json').version,
  server: () => config.makeApiClient(k8s.VersionApi).getCode(),
  get: ({ kind, name, namespace }) => objects.read(named(kind, name, namespace)),
  list: async ({ kind, namespace, labels, fields }) => {
    const at = kind.lastIndexOf('/');
    const found = await objects.list(
      kind.slice(0, at), kind.slice(at + 1), namespace || undefined, undefined, undefined, undefined,
      fields || undefined, labels || undefined,
    );
    return found.items;
  },
  create: ({ body, namespace }) => objects.create(within(body, namespace)),
  replace: ({ body }) => objects.replace(body),
  patch: ({ kind, name, body, how, namespace }) => {
    const [strategy, manager] = how.split(':');
    if (strategy === 'json') throw Object.assign(new Error('none'), { none: true });
    const spec = { ...body, ...named(kind, name, namespace) };
    spec.metadata = { ...body.metadata, ...spec.metadata };
    return objects.patch(spec, undefined, undefined, manager, undefined, PATCHES[strategy]);
  },
  part: ({ kind, name, part, body, namespace }) => {
    if (part === 'eviction') return core.createNamespacedPodEviction({ name, namespace, body });
    if (part === 'token') return core.createNamespacedServiceAccountToken({ name, namespace, body });
    const options = k8s.setHeaderOptions('Content-Type', PATCHES.strategic);
    if (part === 'ephemeralcontainers') {
      return core.patchNamespacedPodEphemeralcontainers({ name, namespace, body }, options);
    }
    const apps = config.makeApiClient(k8s.AppsV1Api);
    return apps.patchNamespacedDeploymentScale({ name, namespace, body }, options);
  },
  delete: ({ kind, name, namespace }) => objects.delete(named(kind, name, namespace)),
  watch: ({ kind, name, namespace }) => new Promise((resolve, reject) => {
    const query = { fieldSelector: `metadata.name=${name}` };
    let seen = '';
    const url = `/api/v1/namespaces/${namespace}/pods`;
    const open = new k8s.Watch(config).watch(url, query, (type) => {
      seen = seen || type;
      open.then((controller) => controller.abort());
    }, (error) => (seen ? resolve(seen) : reject(error ?? new Error('closed'))));
  }),
  logs: ({ pod, tail, previous, timestamps, follow }) => {
    if (!follow) {
      return core.readNamespacedPodLog({ name: pod, namespace: 'default', tailLines: tail, previous, timestamps });
    }
    return new Promise((resolve, reject) => {
      const stream = new PassThrough();
      const text = collected(stream);
      stream.on('end', () => resolve(text()));
      new k8s.Log(config).log('default', pod, 'c', stream, { follow: true }).catch(reject);
    });
  },
  exec: ({ pod, command, stdin }) => new Promise((resolve, reject) => {
    const out = new PassThrough();
    const err = new PassThrough();
    const texts = [collected(out), collected(err)];
    const given = stdin ? Readable.from([stdin]) : null;
    const ended = (status) => {
      const cause = status.details?.causes?.find((one) => one.reason === 'ExitCode');
      setTimeout(() => resolve([texts[0](), texts[1](), status.status === 'Success' ? 0 : Number(cause?.message)]), 50);
    };
    const container = 'c';
    new k8s.Exec(config).exec('default', pod, container, command, out, err, given, false, ended).catch(reject);
  }),
  attach: ({ pod }) => new Promise((resolve, reject) => {
    const out = new PassThrough();
    out.once('data', (part) => resolve(part.toString()));
    new k8s.Attach(config).attach('default', pod, 'c', out, null, null, false)
      .then(async () => { for (let n = 0; n < 6; n += 1) await core.listNamespacedPod({ namespace: 'default' }); })
      .catch(reject);
  }),
  forwarded: ({ pod, port }) => new Promise((resolve, reject) => {
    const forward = new k8s.PortForward(config);
    const server = net.createServer((socket) => forward.portForward('default', pod, [port], socket, null, socket));
    server.listen(0, '127.0.0.1', () => {
      const socket = net.connect(server.address().port, '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: web\r\n\r\n');
      socket.once('data', (part) => { resolve(part.toString()); socket.destroy(); server.close(); });
      socket.on('error', reject);
    });
  }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { call, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { found: plain((await CALLS[call](given)) ?? null) };
  } catch (problem) {
    answer = { none: Boolean(problem.none), code: problem.code ?? 0, problem: String(problem.message ?? problem) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
