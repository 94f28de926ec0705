// Numbers of 16 bits as they are stored, four in two words. Rounded to the nearest, of two equally near ones to the even one, and
// by whole numbers, since a driver may round as it likes, and may make 0 of what is below 2⁻¹⁴; those are multiples of 2⁻²⁴.
fn halves(v: vec4<f32>) -> vec4<u32> {
    let all = bitcast<vec4<u32>>(v);
    let size = all & vec4(0x7fffffffu);
    var h = (size - vec4(0x38000000u) + vec4(0xfffu) + ((size >> vec4(13u)) & vec4(1u))) >> vec4(13u);
    h = select(h, vec4<u32>(round(abs(v) * 16777216.0)), size < vec4(0x38800000u));
    h = select(h, vec4(0x7c00u), size >= vec4(0x477ff000u)); // from 65,520 on infinity
    h = select(h, vec4(0x7e00u), size > vec4(0x7f800000u)); // no number
    return h | ((all >> vec4(16u)) & vec4(0x8000u));
}

fn numbers_of(h: vec4<u32>) -> vec4<f32> {
    let size = h & vec4(0x7fffu);
    let further = select(vec4(0x38000000u), vec4(0x70000000u), size >= vec4(0x7c00u));
    let v = select(bitcast<vec4<f32>>((size << vec4(13u)) + further), vec4<f32>(size) / 16777216.0, size < vec4(0x400u));
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(v) | ((h & vec4(0x8000u)) << vec4(16u)));
}

fn f16_of(v: vec4<f32>) -> vec2<u32> {
    let h = halves(v);
    return vec2(h.x | (h.y << 16u), h.z | (h.w << 16u));
}

fn f32_of(words: vec2<u32>) -> vec4<f32> {
    return numbers_of(vec4(words.x & 0xffffu, words.x >> 16u, words.y & 0xffffu, words.y >> 16u));
}
