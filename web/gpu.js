// Plays the list of a step on a GPU: WebGPU in the worker. The core makes the list and says what stands in it; here are
// buffers, pipelines, calls and submits, and nothing of the model.

/** Each call's sizes lie this far apart in one buffer: every device can begin a binding there. */
const ALIGNED = 256;
/** Steps whose loss and norm wait to be read. */
export const UNREAD = 256;
/** What a list may need more of than every device has: all that the adapter has is asked for. */
const LIMITS = ['maxBufferSize', 'maxStorageBufferBindingSize', 'maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX', 'maxComputeWorkgroupsPerDimension'];

function said({ description, vendor, architecture, device }) {
  return description || [vendor, architecture, device].filter(Boolean).join(' ') || 'GPU';
}

/** The browser's GPU, or null. */
export async function openGpu() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) return null;
  const requiredLimits = Object.fromEntries(LIMITS.map(name => [name, adapter.limits[name]]));
  return new Gpu(await adapter.requestDevice({ requiredLimits }), adapter.info);
}

class Gpu {
  constructor(device, info) {
    this.device = device;
    this.name = said(info);
    /** The browser's own replacement of a GPU computes on the processor. */
    this.isProcessor = info.isFallbackAdapter ?? false;
    this.fault = null;
    device.lost.then(({ message, reason }) => this.failed(message || reason));
    device.onuncapturederror = ({ error }) => this.failed(error.message);
  }

  failed(message) {
    this.fault ??= new Error(message.replace(/\s+/g, ' ').trim());
  }

  /** What it said unasked is thrown. */
  check() {
    if (this.fault) throw this.fault;
  }

  buffer(bytes, usage) {
    return this.device.createBuffer({ size: bytes, usage });
  }

  /** The list of a step, ready to run. */
  async load(list, blob) {
    const step = new Loaded(this, list);
    await step.compile();
    step.write(list.writes, blob);
    this.check();
    return step;
  }
}

class Loaded {
  constructor(gpu, list) {
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    Object.assign(this, { gpu, list });
    this.buffers = list.buffers.map(numbers => gpu.buffer(4 * numbers, STORAGE | COPY_SRC | COPY_DST));
    this.reports = gpu.buffer(8 * UNREAD, MAP_READ | COPY_DST);
    this.unread = 0;
  }

  /** The buffer of a room, from whose beginning on it lies. */
  at(room) {
    return this.buffers[this.list.rooms[room][0]];
  }

  /** Bindings follow from the text: those that the entry uses. */
  async compile() {
    const { list: { texts, kernels, rooms, calls }, gpu } = this, { device } = gpu;
    const pipelines = await Promise.all(kernels.map(([entryPoint, pieces]) => {
      const module = device.createShaderModule({ code: pieces.map(piece => texts[piece]).join('') });
      return device.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint } });
    }));
    const sizes = new Uint32Array(calls.length * ALIGNED / 4);
    calls.forEach(([, numbers], i) => sizes.set(numbers, i * ALIGNED / 4));
    const uniform = gpu.buffer(sizes.byteLength, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    device.queue.writeBuffer(uniform, 0, sizes);
    this.calls = calls.map(([kernel, , used, grid], i) => {
      const own = { buffer: uniform, offset: i * ALIGNED, size: ALIGNED };
      const bound = [own, ...used.map(room => ({ buffer: this.at(room), size: 4 * Math.max(rooms[room][1], 1) }))];
      const entries = bound.map((resource, binding) => ({ binding, resource }));
      return [pipelines[kernel], device.createBindGroup({ layout: pipelines[kernel].getBindGroupLayout(0), entries }), grid];
    });
  }

  /** `writes` as the core says them: rooms and how many numbers of the bytes are theirs. */
  write(writes, blob) {
    let from = 0;
    for (const [room, numbers] of writes) {
      this.gpu.device.queue.writeBuffer(this.at(room), 0, blob, from, 4 * numbers);
      from += 4 * numbers;
    }
  }

  /** Queues parts in one submit; behind the last of a step its loss and norm are put aside. */
  run(parts, isLast) {
    const encoder = this.gpu.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const [pipeline, bound, grid] of parts.flatMap(part => this.calls.slice(...this.list.parts[part]))) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bound);
      pass.dispatchWorkgroups(...grid);
    }
    pass.end();
    if (isLast) encoder.copyBufferToBuffer(this.at(this.list.report), 0, this.reports, 8 * this.unread++, 8);
    this.gpu.device.queue.submit([encoder.finish()]);
  }

  /** Loss and norm of all steps since the last time, one behind the other, when these are done. */
  async told() {
    const bytes = 8 * this.unread;
    this.unread = 0;
    return new Float32Array(await this.mapped(this.reports, bytes));
  }

  /** Bytes of these rooms, one behind the other. */
  async read(rooms) {
    const { gpu, list } = this, sizes = rooms.map(room => 4 * list.rooms[room][1]);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const to = gpu.buffer(bytes, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
    const encoder = gpu.device.createCommandEncoder();
    rooms.reduce((end, room, i) => {
      encoder.copyBufferToBuffer(this.at(room), 0, to, end, sizes[i]);
      return end + sizes[i];
    }, 0);
    gpu.device.queue.submit([encoder.finish()]);
    const found = await this.mapped(to, bytes);
    to.destroy();
    return new Uint8Array(found);
  }

  /** A copy of what stands in a buffer, when all that was queued is done. */
  async mapped(buffer, bytes) {
    await buffer.mapAsync(GPUMapMode.READ, 0, bytes);
    const found = buffer.getMappedRange(0, bytes).slice(0);
    buffer.unmap();
    this.gpu.check();
    return found;
  }

  /** Gives its memory back. */
  end() {
    [...this.buffers, this.reports].forEach(buffer => buffer.destroy());
  }
}
